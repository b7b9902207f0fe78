/** How many claims may be moved at once, and how fast more. Pure but for the count: the time comes in. First placements are no moves. */

export interface MoveRate {
  readonly burst: number;
  readonly perSecond: number;
}

/** the 3,333 claims of one dead node within 5 s */
export const MOVE_RATE: MoveRate = { burst: 1000, perSecond: 500 };

export class MoveBudget {
  readonly #rate: MoveRate;
  /** below zero: so many have a time of their own already */
  #tokens: number;
  #countedMs: number;

  constructor(rate: MoveRate, nowMs: number) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#countedMs = nowMs;
  }

  /** true: one may go now, and has gone */
  take(nowMs: number): boolean {
    this.#count(nowMs);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** when it may go; each asks once, and then keeps its time */
  reserve(nowMs: number): number {
    const { perSecond } = this.#rate;
    this.#count(nowMs);
    this.#tokens -= 1;
    return this.#tokens >= 0 ? nowMs : nowMs + (-this.#tokens * 1000) / perSecond;
  }

  #count(nowMs: number): void {
    const { burst, perSecond } = this.#rate;
    const gained = ((nowMs - this.#countedMs) * perSecond) / 1000;
    this.#tokens = Math.min(burst, this.#tokens + gained);
    this.#countedMs = nowMs;
  }
}
