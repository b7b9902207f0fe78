/**
 * Asks again and again whether what was written has arrived: no system call says when an acknowledgement comes. Each pause is
 * twice as long as the one before, since a path that loses everything may do so for long.
 */

import type { Clock, Timer } from '../io/clock.ts';

const PAUSE_MS = { first: 2, longest: 200 };

export class ArrivalPoll {
  readonly #clock: Clock;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** calls `then` once, as soon as `isOver` says true; a poll that runs goes on as it is */
  start(isOver: () => boolean, then: () => void): void {
    if (this.#timer === undefined) this.#ask(isOver, then, PAUSE_MS.first);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #ask(isOver: () => boolean, then: () => void, afterMs: number): void {
    this.#timer = this.#clock.startTimer(afterMs, () => {
      this.#timer = undefined;
      if (isOver()) then();
      else this.#ask(isOver, then, Math.min(2 * afterMs, PAUSE_MS.longest));
    });
  }
}
