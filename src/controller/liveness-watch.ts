/**
 * Watches the Leases of the nodes and says who lives (scheduler/liveness.ts judges). It writes nothing, so a standby can have one too: a
 * leader that takes over then knows at once who is dead, and need not look for 15 s first.
 */

import type { Clock, Timer } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import type { IpNode } from '../model/ip-node.ts';
import { DEFAULT_LEASE_TIMES } from '../model/lease-times.ts';
import { NAMESPACE, nodeLease } from '../model/names.ts';
import { optional } from '../model/optional.ts';
import { ROUTER_LATE_SECONDS, routersKeepMs } from '../model/router-memory.ts';
import { type LeaseSight, type Life, Liveness } from '../scheduler/liveness.ts';
import type { Lease } from '../sources/kube/convert-lease.ts';
import type { ControllerCaches } from './caches.ts';
import type { KubeletLeases } from './kubelet-leases.ts';
import { AGENT_ALIVE } from './liveness-condition.ts';

/** What the placement loop wants to know. */
export interface LivenessView {
  lifeOf(node: string): Life;
  /** it has been seen to renew its Lease twice since (on the clock of the controller) */
  hasRenewedTwice(node: string, sinceMs: number): boolean;
  /** it is away for a planned restart */
  isRestarting(node: string): boolean;
  /** most nodes fell silent together: move nothing */
  readonly isBlind: boolean;
  /** we have just begun, and not all that live have been heard yet: place nothing */
  readonly isLearning: boolean;
  /** calls back about once a second, and when a Lease is released; returns how to end that */
  onLook(listener: () => void): () => void;
}

export interface LivenessWatchOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly caches: Pick<
    ControllerCaches,
    'leases' | 'ipNodes' | 'nodes' | 'peers' | 'subscribe' | 'whenSynced'
  >;
  /** Leases of kubelets, asked for only while no agent is heard; absent: nobody asks */
  readonly kubelets?: KubeletLeases;
}

const LOOK_MS = 1000;
/** who has been silent for long enough is found then, and not up to a second later */
const SOONEST_MS = 20;
/** longer than any agent takes from one renewal to the next */
const ALONE_MS = DEFAULT_LEASE_TIMES.deafMs;
const NODE_LEASE = /^node-/;

export class LivenessWatch implements LivenessView {
  readonly #options: LivenessWatchOptions;
  readonly #listeners = new Set<() => void>();
  #liveness: Liveness;
  #isRunning = false;
  #ends: readonly (() => void)[] = [];
  #timer: Timer | undefined;
  /** Leases that a Node stands behind */
  #ofNodes = new Set<string>();
  /** neither Lease nor Node is left of these */
  readonly #leaving = new Set<string>();
  #isBlind = false;

  constructor(options: LivenessWatchOptions) {
    this.#options = options;
    this.#liveness = new Liveness(options.clock.now());
  }

  get isBlind(): boolean {
    return this.#isBlind;
  }

  get isLearning(): boolean {
    return this.#liveness.isLearning(this.#options.clock.now());
  }

  /** Leases, by their names, that are remembered */
  get remembered(): number {
    return [...this.#liveness.names].length;
  }

  lifeOf(node: string): Life {
    return this.#liveness.lifeOf(nodeLease(node), this.#options.clock.now());
  }

  hasRenewedTwice(node: string, sinceMs: number): boolean {
    return this.#liveness.hasRenewedTwice(nodeLease(node), sinceMs);
  }

  isRestarting(node: string): boolean {
    return this.#liveness.isRestarting(nodeLease(node));
  }

  onLook(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Begins once everything has been listed. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#options.caches.whenSynced(() => {
      if (this.#isRunning && this.#ends.length === 0) this.#begin();
    });
  }

  stop(): void {
    this.#isRunning = false;
    this.#options.kubelets?.rest();
    for (const end of this.#ends) end();
    this.#ends = [];
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** What is there already proves nothing, but an earlier controller may have left word of who is dead. */
  #begin(): void {
    const { clock, caches } = this.#options;
    const nowMs = clock.now();
    this.#liveness = new Liveness(nowMs);
    this.#ofNodes = new Set([...caches.nodes.items.keys()].map(nodeLease));
    this.#leaving.clear();
    for (const lease of caches.leases.items.values()) {
      if (!NODE_LEASE.test(lease.name)) continue;
      this.#liveness.see(lease.name, sightOf(lease), nowMs, true);
      // of a node that went while no controller looked; nothing comes of it any more
      this.#judge(lease.name);
    }
    for (const ipNode of caches.ipNodes.items.values()) this.#read(ipNode);
    this.#ends = [
      caches.subscribe('leases', (key, now) => this.#see(key, now)),
      caches.subscribe('nodes', (name) => this.#nodeChanged(name)),
      // whoever leads may have found it dead a moment before a standby would, and fall silent with the next
      caches.subscribe('ipNodes', (_, now) => this.#read(now)),
      // of sessions that do not tell what was agreed, the BGPPeer says how long it may be
      caches.subscribe('peers', () => {
        for (const ipNode of caches.ipNodes.items.values()) this.#read(ipNode);
      }),
    ];
    this.#schedule();
  }

  /** What the routers of a node that is gone may still have does not change with its IPNode: the last word stands. */
  #read(ipNode: IpNode | undefined): void {
    if (ipNode === undefined) return;
    const { peers } = this.#options.caches;
    const keepMs = routersKeepMs(ipNode, (name) => {
      const peer = peers.get(name);
      return peer?.ok === true ? peer.object : undefined;
    });
    this.#liveness.setRouters(nodeLease(ipNode.name), keepMs);
    const word = ipNode.status.conditions?.find(({ type }) => type === AGENT_ALIVE);
    if (word?.status !== 'False') return;
    this.#liveness.knowDead(nodeLease(ipNode.name), this.#options.clock.now());
  }

  #see(key: string, lease: Lease | undefined): void {
    const nowMs = this.#options.clock.now();
    const name = key.slice(key.indexOf('/') + 1);
    if (!key.startsWith(`${NAMESPACE}/`)) return;
    if (!NODE_LEASE.test(name)) this.#liveness.hear(nowMs);
    else if (lease === undefined) {
      this.#liveness.lose(name);
      this.#judge(name);
    } else {
      this.#liveness.see(name, sightOf(lease), nowMs);
      this.#judge(name);
      // who goes on purpose is not waited for
      if (lease.holder === undefined) this.#look();
    }
  }

  #nodeChanged(node: string): void {
    const name = nodeLease(node);
    if (this.#options.caches.nodes.get(node) === undefined) this.#ofNodes.delete(name);
    else this.#ofNodes.add(name);
    this.#judge(name);
  }

  #judge(name: string): void {
    const hasNode = this.#ofNodes.has(name);
    this.#liveness.setDeparted(name, !hasNode);
    const hasLease = this.#options.caches.leases.get(`${NAMESPACE}/${name}`) !== undefined;
    if (hasNode || hasLease) this.#leaving.delete(name);
    else this.#leaving.add(name);
  }

  #schedule(): void {
    const { clock } = this.#options;
    const nextMs = this.#liveness.untilNextMs(clock.now());
    this.#timer = clock.startTimer(Math.min(LOOK_MS, Math.max(nextMs, SOONEST_MS)), () => {
      this.#look();
      this.#schedule();
    });
  }

  /** Only while a node is late and no agent renews: agents that renew prove that the API serves others, and where no agent has a Lease nothing depends on it. */
  #askKubelets(nowMs: number, late: number): void {
    const { kubelets } = this.#options;
    if (late === 0 || nowMs - this.#liveness.servedMs <= ALONE_MS) kubelets?.rest();
    else kubelets?.ask(() => this.#liveness.hearOther(this.#options.clock.now()));
  }

  #look(): void {
    const { clock, log } = this.#options;
    const nowMs = clock.now();
    const { isBlind, late, of } = this.#liveness.look(nowMs);
    this.#askKubelets(nowMs, late);
    for (const name of this.#leaving) {
      if (this.#liveness.forget(name, nowMs)) this.#leaving.delete(name);
    }
    if (isBlind !== this.#isBlind) {
      const message = isBlind
        ? 'most nodes fell silent together: nothing is moved for one further lease duration'
        : 'most nodes are heard again, or have been silent for long enough';
      log.warn('controller.blind', { late, of, isBlind }, message);
    }
    this.#isBlind = isBlind;
    for (const listener of [...this.#listeners]) listener();
  }
}

function sightOf(lease: Lease): LeaseSight {
  const { uid, holder, renewTime = '', transitions, resourceVersion } = lease;
  const { durationSeconds, restartingSeconds } = lease;
  const mark = `${renewTime} ${transitions} ${resourceVersion}`;
  const restartingMs =
    restartingSeconds === undefined ? undefined : (restartingSeconds + ROUTER_LATE_SECONDS) * 1000;
  return {
    uid,
    mark,
    isReleased: holder === undefined,
    ...optional('durationSeconds', durationSeconds),
    ...optional('restartingMs', restartingMs),
  };
}
