/**
 * Tells who lives: one condition, AgentAlive, in each IPNode, written when it changes and at no other time; and deletes IPNodes whose Node is
 * gone and whose agent is silent. It moves nothing: the placement loop asks it, as it asks its watch.
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import type { IpNode } from '../model/ip-node.ts';
import { API_VERSION, NAMESPACE, nodeLease } from '../model/names.ts';
import type { Life } from '../scheduler/liveness.ts';
import { isConflict, isNotFound, type KubeApi } from '../sources/kube/api.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { IP_NODES } from '../sources/kube/resources.ts';
import type { ControllerCaches } from './caches.ts';
import { changedCondition } from './conditions.ts';
import { documentRef, type EventSink } from './events.ts';
import { aliveCondition } from './liveness-condition.ts';
import { type LivenessView, LivenessWatch } from './liveness-watch.ts';

export interface LivenessLoopOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly caches: ControllerCaches;
  readonly events: EventSink;
  /** one that runs already, and goes on when this loop ends; absent: one of its own */
  readonly livenessWatch?: LivenessWatch;
}

const FIELD_MANAGER = 'herald-controller';

export class LivenessLoop implements LivenessView {
  readonly #options: LivenessLoopOptions;
  readonly #watch: LivenessWatch;
  /** as they were at the last look */
  readonly #lives = new Map<string, Life>();
  #queue: KeyQueue | undefined;
  #ends: readonly (() => void)[] = [];

  constructor(options: LivenessLoopOptions) {
    this.#options = options;
    this.#watch = options.livenessWatch ?? new LivenessWatch(options);
  }

  get isBlind(): boolean {
    return this.#watch.isBlind;
  }

  get isLearning(): boolean {
    return this.#watch.isLearning;
  }

  lifeOf(node: string): Life {
    return this.#watch.lifeOf(node);
  }

  hasRenewedTwice(node: string, sinceMs: number): boolean {
    return this.#watch.hasRenewedTwice(node, sinceMs);
  }

  isRestarting(node: string): boolean {
    return this.#watch.isRestarting(node);
  }

  onLook(listener: () => void): () => void {
    return this.#watch.onLook(listener);
  }

  start(): void {
    if (this.#queue !== undefined) return;
    const { clock, random, caches } = this.#options;
    const queue = new KeyQueue({ clock, random, concurrency: 4, work: (key) => this.#tell(key) });
    this.#queue = queue;
    this.#ends = [
      this.#watch.onLook(() => this.#look()),
      caches.subscribe('nodes', (name) => queue.add(name)),
      caches.subscribe('ipNodes', (name) => queue.add(name)),
    ];
    this.#watch.start();
    this.#look();
  }

  stop(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
    this.#queue?.stop();
    this.#queue = undefined;
    if (this.#watch !== this.#options.livenessWatch) this.#watch.stop();
  }

  #look(): void {
    for (const name of this.#options.caches.ipNodes.items.keys()) {
      const life = this.lifeOf(name);
      if (this.#lives.get(name) === life) continue;
      this.#lives.set(name, life);
      this.#queue?.add(name);
    }
  }

  async #tell(name: string): Promise<QueueOutcome> {
    const { caches, clock } = this.#options;
    const ipNode = caches.ipNodes.get(name);
    if (ipNode === undefined) {
      this.#lives.delete(name);
      return DONE;
    }
    const life = this.lifeOf(name);
    if (caches.nodes.get(name) === undefined && (life === 'dead' || life === 'released')) {
      return await this.#collect(ipNode);
    }
    const isJoined = ipNode.status.joined?.open === true;
    const wanted = aliveCondition({ life, isJoined });
    if (wanted === undefined) return DONE;
    const standing = ipNode.status.conditions ?? [];
    const isSilent = standing.every(({ type }) => type !== wanted.type) && !this.#hasLease(name);
    // where there is no exclusive pool agents have no Lease, and of their life nobody knows or has to know
    if (isSilent && life === 'dead') return DONE;
    const change = changedCondition(standing, wanted, clock.wallTimeMs());
    return change === undefined ? DONE : await this.#write(ipNode, change);
  }

  #hasLease(name: string): boolean {
    return this.#options.caches.leases.get(`${NAMESPACE}/${nodeLease(name)}`) !== undefined;
  }

  /** Only this condition: the others of the list are the agent's. */
  async #write(
    ipNode: IpNode,
    change: NonNullable<ReturnType<typeof changedCondition>>,
  ): Promise<QueueOutcome> {
    const { api, events } = this.#options;
    const { name, uid } = ipNode;
    const metadata = { name, uid };
    const status = { conditions: [change] };
    const body = { apiVersion: API_VERSION, kind: 'IPNode', metadata, status };
    const options = { subresource: 'status', fieldManager: FIELD_MANAGER, force: true } as const;
    try {
      await api.patch(IP_NODES, name, { kind: 'apply', body }, options);
    } catch (error) {
      // it is another one by now, and comes by itself
      if (!isNotFound(error) && !isConflict(error)) throw error;
      return DONE;
    }
    const { reason, message } = change;
    const type = change.status === 'True' ? 'Normal' : 'Warning';
    events.record({ object: documentRef('IPNode', ipNode), type, reason, message });
    return DONE;
  }

  /** Kubernetes does it by the owner too; where it does not, nothing of a node that is gone stays. */
  async #collect({ name, uid, resourceVersion }: IpNode): Promise<QueueOutcome> {
    try {
      await this.#options.api.delete(IP_NODES, name, { uid, resourceVersion });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return DONE;
  }
}
