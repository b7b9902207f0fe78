/** The loops of a leader. Each reads the shared caches and writes through the guard of its term; a new term has new ones. */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import type { KubeApi } from '../sources/kube/api.ts';
import { AdvertisedLoop } from './advertised-loop.ts';
import type { ControllerCaches } from './caches.ts';
import type { ControllerCounters } from './counters.ts';
import type { EventSink } from './events.ts';
import { NodeEvents } from './node-events.ts';
import { PeerStatusLoop } from './peer-status-loop.ts';

export interface ControllerLoop {
  start(): void;
  /** nothing is begun any more; what is under way comes to its end by itself */
  stop(): void;
}

export interface LoopContext {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly caches: ControllerCaches;
  readonly events: EventSink;
  readonly counters: ControllerCounters;
  readonly settings: LoopSettings;
}

export interface LoopSettings {
  /** also Services that name no loadBalancerClass */
  readonly defaultClass: boolean;
  /** how long a freed address waits for nodes that do not answer */
  readonly maxStaleMs: number;
}

export function createLoops(context: LoopContext): readonly ControllerLoop[] {
  return [new AdvertisedLoop(context), new PeerStatusLoop(context), new NodeEvents(context)];
}
