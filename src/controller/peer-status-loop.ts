/**
 * Writes the status of BGPPeers. Every agent watches them, so it is written when the numbers, the reason or the router's words have
 * changed and not more often than every few seconds per peer; and not at all by node reports that change nothing of it.
 */

import type { Clock, Random, Timer } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import { isNotFound, type KubeApi } from '../sources/kube/api.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { BGP_PEERS } from '../sources/kube/resources.ts';
import type { ControllerCaches } from './caches.ts';
import { changedCondition, withCondition } from './conditions.ts';
import { type ControllerCounters, NO_COUNTERS } from './counters.ts';
import { documentRef, type EventSink } from './events.ts';
import { type PeeringNode, type PeerStatus, peerStatus } from './peer-status.ts';
import { peerTwins } from './peer-twins.ts';

export interface PeerStatusLoopOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly caches: ControllerCaches;
  readonly events: EventSink;
  readonly counters?: ControllerCounters;
}

/** the least time between two looks, and so between two writes of one peer */
const DEBOUNCE_MS = 5000;

export class PeerStatusLoop {
  readonly #options: PeerStatusLoopOptions;
  #queue: KeyQueue | undefined;
  #ends: readonly (() => void)[] = [];
  #flush: Timer | undefined;
  #twins: ReadonlyMap<string, string> = new Map();

  constructor(options: PeerStatusLoopOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#queue !== undefined) return;
    const { clock, random, caches, counters = NO_COUNTERS } = this.#options;
    const queue = new KeyQueue({ clock, random, concurrency: 2, work: (key) => this.#look(key) });
    this.#queue = queue;
    const soon = () => this.#soon();
    this.#ends = [
      caches.subscribe('ipNodes', soon),
      caches.subscribe('nodes', soon),
      caches.subscribe('peers', soon),
      counters.queue('peer-status', () => queue.depth),
    ];
    this.#soon();
  }

  stop(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
    this.#flush?.cancel();
    this.#flush = undefined;
    this.#queue?.stop();
    this.#queue = undefined;
  }

  #soon(): void {
    this.#flush ??= this.#options.clock.startTimer(DEBOUNCE_MS, () => {
      this.#flush = undefined;
      const { peers } = this.#options.caches;
      this.#twins = peerTwins(peers.items.values(), this.#nodes());
      for (const key of peers.items.keys()) this.#queue?.add(key);
    });
  }

  async #look(key: string): Promise<QueueOutcome> {
    const { api, caches, clock } = this.#options;
    const peer = caches.peers.get(key);
    if (peer === undefined || peer.meta.isBeingDeleted) return DONE;
    const wanted = peerStatus(peer, this.#nodes(), this.#twins.get(key));
    const { conditions, status, uid, resourceVersion } = peer.meta;
    const change = changedCondition(conditions, wanted.condition, clock.wallTimeMs());
    const isCounted =
      status['nodes'] === wanted.nodes && status['established'] === wanted.established;
    if (change === undefined && isCounted) return DONE;
    const body = {
      metadata: { uid, resourceVersion },
      status: {
        nodes: wanted.nodes,
        established: wanted.established,
        ...(change !== undefined && { conditions: withCondition(conditions, change) }),
      },
    };
    try {
      await api.patch(BGP_PEERS, key, { kind: 'merge', body }, { subresource: 'status' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    const before = conditions.find(({ type }) => type === wanted.condition.type);
    if (before?.reason !== wanted.condition.reason) this.#tell(peer.meta, wanted);
    return DONE;
  }

  #tell(meta: { readonly name: string; readonly uid: string }, { condition }: PeerStatus): void {
    const { status, reason, message } = condition;
    const type = status === 'False' ? 'Warning' : 'Normal';
    this.#options.events.record({ object: documentRef('BGPPeer', meta), type, reason, message });
  }

  *#nodes(): Iterable<PeeringNode> {
    const { nodes, ipNodes } = this.#options.caches;
    for (const [name, ipNode] of ipNodes.items) yield { node: nodes.get(name), ipNode };
  }
}
