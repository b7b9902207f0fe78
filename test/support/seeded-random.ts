/** Random numbers that repeat: a failing run is repeated by its seed. A 32-bit mixing generator, uniform enough for tests. */

import type { Random } from '../../protocol/io/random.ts';

export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** a whole number, 0 <= x < bound */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}
