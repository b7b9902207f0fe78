/**
 * The thread in which the fuzzer runs, so that a message that never returns can be noticed and named from outside. Tells its
 * heap after the first 10,000 messages and at the end, both after a collection: what lies between is what leaks.
 */

import { getHeapStatistics } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { Campaign, type CampaignResult, type Counts } from './fuzz-campaign.ts';
import { CONTEXTS } from './fuzz-seeds.ts';

export interface WorkerInput {
  readonly seed: number;
  readonly count: number;
  /** of the message at hand: its index, its length, its context (see CONTEXTS); then its octets */
  readonly shared: SharedArrayBuffer;
}

export type WorkerReport =
  | { readonly kind: 'progress'; readonly done: number; readonly counts: Counts }
  | {
      readonly kind: 'done';
      readonly result: CampaignResult;
      readonly heapEarlyBytes: number;
      readonly heapEndBytes: number;
    };

export const WARM_UP = 10_000;
export const SHARED_HEADER = 12;

function heapBytes(): number {
  // twice: the first collection may only queue what finalizers hold
  for (let round = 0; round < 2; round += 1) globalThis.gc?.();
  const { used_heap_size: used, external_memory: external } = getHeapStatistics();
  return used + external;
}

function run(input: WorkerInput): void {
  const header = new Int32Array(input.shared, 0, 3);
  const octets = new Uint8Array(input.shared, SHARED_HEADER);
  const campaign = new Campaign({
    seed: input.seed,
    onMessage: (index, bytes, context) => {
      octets.set(bytes);
      Atomics.store(header, 1, bytes.length);
      Atomics.store(header, 2, CONTEXTS.indexOf(context));
      Atomics.store(header, 0, index);
    },
    onProgress: (done, counts) => report({ kind: 'progress', done, counts }),
  });
  campaign.runTo(Math.min(WARM_UP, input.count));
  const heapEarlyBytes = heapBytes();
  const result = campaign.runTo(input.count);
  report({ kind: 'done', result, heapEarlyBytes, heapEndBytes: heapBytes() });
}

function report(message: WorkerReport): void {
  parentPort?.postMessage(message);
}

if (parentPort !== null) run(workerData);
