/**
 * What people read gives way to what routers need: while addresses are given out it waits, for so long and no longer, and it is
 * written the more slowly the more nodes hear of it.
 */

import type { Clock } from 'bgp-ts';

const MOST_BUSY_MS = 30_000;
/** writes a second over all nodes that hear of them: 1,000 nodes leave 5 a second */
const HEARERS_PER_SECOND = 5000;
const FEWEST_PER_SECOND = 2;
const MOST_PER_SECOND = 50;

export class GiveWay {
  readonly #clock: Clock;
  readonly #isBusy: () => boolean;
  #busySinceMs: number | undefined;

  /** `isBusy`: addresses are being given out */
  constructor(clock: Clock, isBusy: () => boolean = () => false) {
    this.#clock = clock;
    this.#isBusy = isBusy;
  }

  mustWait(): boolean {
    if (!this.#isBusy()) {
      this.#busySinceMs = undefined;
      return false;
    }
    this.#busySinceMs ??= this.#clock.now();
    return this.#clock.now() - this.#busySinceMs < MOST_BUSY_MS;
  }
}

export function writesPerSecond(nodes: number): number {
  const wanted = HEARERS_PER_SECOND / Math.max(nodes, 1);
  return Math.min(Math.max(wanted, FEWEST_PER_SECOND), MOST_PER_SECOND);
}
