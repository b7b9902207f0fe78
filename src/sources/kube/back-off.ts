/** How long to wait before the next try of what fails again and again: doubling, bounded, and spread so that many who failed together do not return together. */

import type { Random } from 'bgp-ts';
import { ApiError } from './api.ts';

export interface BackOff {
  readonly firstMs: number;
  readonly longestMs: number;
}

export const BACK_OFF: BackOff = { firstMs: 200, longestMs: 30_000 };
/** of a watch: an API server that is back shall be noticed soon, and one that is away is asked little enough by a thousand agents */
export const WATCH_BACK_OFF: BackOff = { firstMs: 200, longestMs: 10_000 };

/** `failures` counts from 1; the answer lies between half of the step and the step */
export function backOffMs(failures: number, random: Random, bounds: BackOff = BACK_OFF): number {
  const doublings = Math.min(Math.max(failures - 1, 0), 30);
  const stepMs = Math.min(bounds.firstMs * 2 ** doublings, bounds.longestMs);
  return stepMs * (0.5 + random.next() / 2);
}

/** how long the server has asked to be left alone; 0: it has not */
export function retryAfterMs(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}
