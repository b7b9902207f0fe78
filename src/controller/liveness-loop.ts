/**
 * Watches the Leases of the nodes and says who lives (scheduler/liveness.ts judges). Writes one condition, AgentAlive, into each IPNode,
 * when it changes and no other time; and deletes IPNodes whose Node is gone and whose agent is silent. It moves nothing: the
 * placement loop asks it.
 */

import type { Clock, Random, Timer } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import { API_VERSION, NAMESPACE, nodeLease } from '../model/names.ts';
import {
  LIVENESS_LIMITS,
  type Life,
  Liveness,
  type LivenessLimits,
} from '../scheduler/liveness.ts';
import { isConflict, isNotFound, type KubeApi } from '../sources/kube/api.ts';
import type { Lease } from '../sources/kube/convert-lease.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { IP_NODES } from '../sources/kube/resources.ts';
import type { ControllerCaches } from './caches.ts';
import { changedCondition } from './conditions.ts';
import { documentRef, type EventSink } from './events.ts';
import { AGENT_ALIVE, aliveCondition } from './liveness-condition.ts';

/** What the placement loop wants to know. */
export interface LivenessView {
  lifeOf(node: string): Life;
  /** most nodes fell silent together: move nothing */
  readonly isBlind: boolean;
  /** we have just begun, and not all that live have been heard yet: place nothing */
  readonly isLearning: boolean;
  /** calls back about once a second, and when a Lease is released; returns how to end that */
  onLook(listener: () => void): () => void;
}

export interface LivenessLoopOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly caches: Pick<ControllerCaches, 'leases' | 'ipNodes' | 'nodes' | 'subscribe'>;
  readonly events: EventSink;
  readonly limits?: LivenessLimits;
}

const LOOK_MS = 1000;
const FIELD_MANAGER = 'herald-controller';
const NODE_LEASE = /^node-/;

export class LivenessLoop implements LivenessView {
  readonly #options: LivenessLoopOptions;
  readonly #listeners = new Set<() => void>();
  #liveness: Liveness;
  #queue: KeyQueue | undefined;
  #ends: readonly (() => void)[] = [];
  #timer: Timer | undefined;
  #isBlind = false;
  /** as they were at the last look */
  readonly #lives = new Map<string, Life>();

  constructor(options: LivenessLoopOptions) {
    this.#options = options;
    this.#liveness = new Liveness(options.clock.now(), options.limits);
  }

  get isBlind(): boolean {
    return this.#isBlind;
  }

  get isLearning(): boolean {
    return this.#liveness.isLearning(this.#options.clock.now());
  }

  lifeOf(node: string): Life {
    return this.#liveness.lifeOf(nodeLease(node), this.#options.clock.now());
  }

  onLook(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  start(): void {
    if (this.#queue !== undefined) return;
    const { clock, random, caches } = this.#options;
    const queue = new KeyQueue({ clock, random, concurrency: 4, work: (key) => this.#tell(key) });
    this.#queue = queue;
    this.#begin();
    this.#ends = [
      caches.subscribe('leases', (key, now) => this.#see(key, now)),
      caches.subscribe('nodes', (name) => this.#depart(name)),
      caches.subscribe('ipNodes', (name) => queue.add(name)),
    ];
    this.#schedule();
  }

  stop(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#queue?.stop();
    this.#queue = undefined;
  }

  /** What is there already proves nothing, but an earlier controller may have left word of who is dead. */
  #begin(): void {
    const { clock, caches, limits } = this.#options;
    const nowMs = clock.now();
    this.#liveness = new Liveness(nowMs, limits);
    for (const lease of caches.leases.items.values()) {
      if (NODE_LEASE.test(lease.name)) this.#liveness.see(lease.name, sightOf(lease), nowMs, true);
    }
    for (const [name, { status }] of caches.ipNodes.items) {
      const known = status.conditions?.find(({ type }) => type === AGENT_ALIVE);
      if (known?.status === 'False') this.#liveness.knowDead(nodeLease(name));
      this.#depart(name);
    }
  }

  #see(key: string, lease: Lease | undefined): void {
    const nowMs = this.#options.clock.now();
    const name = key.slice(key.indexOf('/') + 1);
    if (!key.startsWith(`${NAMESPACE}/`)) return;
    if (!NODE_LEASE.test(name)) this.#liveness.hear(nowMs);
    else if (lease === undefined) this.#liveness.lose(name);
    else {
      this.#liveness.see(name, sightOf(lease), nowMs);
      // who goes on purpose is not waited for
      if (lease.holder === undefined) this.#look();
    }
  }

  #depart(node: string): void {
    const isGone = this.#options.caches.nodes.get(node) === undefined;
    this.#liveness.setDeparted(nodeLease(node), isGone);
    this.#queue?.add(node);
  }

  #schedule(): void {
    this.#timer = this.#options.clock.startTimer(LOOK_MS, () => {
      this.#look();
      this.#schedule();
    });
  }

  #look(): void {
    const { clock, caches, log } = this.#options;
    const { isBlind, late, of } = this.#liveness.look(clock.now());
    if (isBlind !== this.#isBlind) {
      const message = isBlind
        ? 'most nodes fell silent together: nothing is moved'
        : 'most nodes are heard again';
      log.warn('controller.blind', { late, of, isBlind }, message);
    }
    this.#isBlind = isBlind;
    for (const name of caches.ipNodes.items.keys()) this.#noteLife(name);
    for (const listener of this.#listeners) listener();
  }

  #noteLife(name: string): void {
    const life = this.lifeOf(name);
    if (this.#lives.get(name) === life) return;
    this.#lives.set(name, life);
    this.#queue?.add(name);
  }

  async #tell(name: string): Promise<QueueOutcome> {
    const { caches, clock, events, api } = this.#options;
    const ipNode = caches.ipNodes.get(name);
    if (ipNode === undefined) {
      this.#lives.delete(name);
      return DONE;
    }
    const life = this.lifeOf(name);
    if (caches.nodes.get(name) === undefined && (life === 'dead' || life === 'released')) {
      return await this.#collect(name, ipNode);
    }
    const conditions = ipNode.status.conditions ?? [];
    const wanted = aliveCondition(life, LIVENESS_LIMITS.reassignMs);
    if (wanted === undefined) return DONE;
    const change = changedCondition(conditions, wanted, clock.wallTimeMs());
    if (change === undefined) return DONE;
    const body = {
      apiVersion: API_VERSION,
      kind: 'IPNode',
      metadata: { name, uid: ipNode.uid },
      status: { conditions: [change] },
    };
    const options = { subresource: 'status', fieldManager: FIELD_MANAGER, force: true } as const;
    try {
      await api.patch(IP_NODES, name, { kind: 'apply', body }, options);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
      return DONE;
    }
    const { status, reason, message } = change;
    const type = status === 'True' ? 'Normal' : 'Warning';
    events.record({ object: documentRef('IPNode', ipNode), type, reason, message });
    return DONE;
  }

  /** Kubernetes does it by the owner too; where it does not, nothing of a node that is gone stays. */
  async #collect(
    name: string,
    { uid, resourceVersion }: { readonly uid: string; readonly resourceVersion: string },
  ): Promise<QueueOutcome> {
    try {
      await this.#options.api.delete(IP_NODES, name, { uid, resourceVersion });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return DONE;
  }
}

function sightOf({ uid, holder, renewTime = '', transitions, resourceVersion }: Lease) {
  const mark = `${renewTime} ${transitions} ${resourceVersion}`;
  return { uid, mark, isReleased: holder === undefined };
}
