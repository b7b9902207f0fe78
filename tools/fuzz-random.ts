/** Random numbers that a seed repeats: the same seed makes the same million messages on every machine. */

export class FuzzRandom {
  #state: number;

  constructor(seed: number) {
    // a state of zero would stay zero
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) | 0 || 1;
  }

  /** 32 bits */
  u32(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return Math.imul(x, 0x2545f491) >>> 0;
  }

  /** 0 <= x < bound */
  below(bound: number): number {
    return Math.floor((this.u32() / 2 ** 32) * bound);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    const found = list[this.below(list.length)];
    if (found === undefined) throw new Error('nothing to pick from');
    return found;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}
