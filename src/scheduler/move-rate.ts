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

  /** when it may go; each asks once, and then keeps its time */
  reserve(nowMs: number): number {
    const { burst, perSecond } = this.#rate;
    const gained = ((nowMs - this.#countedMs) * perSecond) / 1000;
    this.#tokens = Math.min(burst, this.#tokens + gained) - 1;
    this.#countedMs = nowMs;
    return this.#tokens >= 0 ? nowMs : nowMs + (-this.#tokens * 1000) / perSecond;
  }
}
