/**
 * Time as far as it may be held against a silent node: it counts while somebody's Lease is seen to change. A stall in which nobody's does
 * (etcd frozen, our watch cut, this process stopped) is our own deafness. Pure.
 *
 * A stall that is shorter than that, but longer than the renewals of the node in question are apart, counts as one such interval:
 * a node whose Lease lasts 2 s would else be called dead after a hiccup of the API that one of 15 s does not even notice.
 */

import { DEFAULT_LEASE_TIMES, type LeaseTimes } from '../model/lease-times.ts';

export class HeardClock {
  /** time that has counted up to the last sign, by what a gap counts at most */
  readonly #counted = new Map<number, number>([[DEFAULT_LEASE_TIMES.deafMs, 0]]);
  #heardMs: number;

  constructor(startMs: number) {
    this.#heardMs = startMs;
  }

  hear(nowMs: number): void {
    for (const [deafMs, counted] of this.#counted) {
      this.#counted.set(deafMs, counted + counts(nowMs - this.#heardMs, deafMs));
    }
    this.#heardMs = nowMs;
  }

  /** for a node with these times; only readings for the same times are compared */
  at({ deafMs }: LeaseTimes, nowMs: number): number {
    const counted = this.#counted.get(deafMs) ?? 0;
    this.#counted.set(deafMs, counted);
    return counted + counts(nowMs - this.#heardMs, deafMs);
  }
}

function counts(gapMs: number, deafMs: number): number {
  return gapMs > DEFAULT_LEASE_TIMES.deafMs ? 0 : Math.min(gapMs, deafMs);
}
