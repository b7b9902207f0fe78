/** What a loop of the leader is, and what it is given. create-loops.ts makes them. */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import type { MoveRate } from '../scheduler/move-rate.ts';
import type { KubeApi } from '../sources/kube/api.ts';
import type { ControllerCaches } from './caches.ts';
import type { ControllerCounters } from './counters.ts';
import type { EventSink } from './events.ts';
import type { LivenessWatch } from './liveness-watch.ts';
import type { ReleaseWatch } from './release-watch.ts';

export interface ControllerLoop {
  /** the caches have synced */
  start(): void;
  /** nothing is begun any more; what is under way comes to its end by itself */
  stop(): void;
  /** what people read can wait for it */
  readonly isBusy?: boolean;
}

export interface LoopContext {
  /** writes only while we lead */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly caches: ControllerCaches;
  /** runs in a standby too; absent: the loops have one of their own */
  readonly livenessWatch?: LivenessWatch;
  /** likewise */
  readonly releaseWatch?: ReleaseWatch;
  readonly events: EventSink;
  readonly counters: ControllerCounters;
  readonly settings: LoopSettings;
}

export interface LoopSettings {
  /** also Services that name no loadBalancerClass */
  readonly defaultClass: boolean;
  /** how long a freed address waits for nodes that do not answer */
  readonly maxStaleMs: number;
  /** how long others are given out before an address that has become free; absent: not at all */
  readonly coolDownMs?: number;
  /** how fast exclusive claims may move; absent: MOVE_RATE */
  readonly moveRate?: MoveRate;
  /** absent: only what has to move moves */
  readonly rebalanceEveryMs?: number;
}
