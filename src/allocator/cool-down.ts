/**
 * Numbers that came back a short while ago: they are free, but others are given out before them, so that who had one finds it again.
 * Only a choice, never a lock: what nobody else can be given for is given. Kept in memory alone.
 */

export interface CoolDownOptions {
  /** 0: none */
  readonly coolDownMs: number;
  readonly now: () => number;
}

export const NO_COOL_DOWN: CoolDownOptions = { coolDownMs: 0, now: () => 0 };

export class CoolDown {
  readonly #options: CoolDownOptions;
  /** until when, the first to end first */
  readonly #until = new Map<bigint, number>();

  constructor(options: CoolDownOptions) {
    this.#options = options;
  }

  has(number: bigint): boolean {
    return this.#until.has(number);
  }

  /** False where there is no cool-down: it can be given out at once. */
  put(number: bigint): boolean {
    const { coolDownMs, now } = this.#options;
    if (coolDownMs <= 0) return false;
    this.#until.delete(number);
    this.#until.set(number, now() + coolDownMs);
    return true;
  }

  remove(number: bigint): void {
    this.#until.delete(number);
  }

  /** Takes out those whose time is over. */
  over(): readonly bigint[] {
    const nowMs = this.#options.now();
    const over: bigint[] = [];
    for (const [number, untilMs] of this.#until) {
      if (untilMs > nowMs) break;
      over.push(number);
    }
    for (const number of over) this.#until.delete(number);
    return over;
  }

  /** the one that came back first */
  get first(): bigint | undefined {
    const [first] = this.#until.keys();
    return first;
  }

  /** the same, of these numbers only */
  only(isOne: (number: bigint) => boolean): CoolDown {
    const kept = new CoolDown(this.#options);
    for (const [number, untilMs] of this.#until) {
      if (isOne(number)) kept.#until.set(number, untilMs);
    }
    return kept;
  }
}
