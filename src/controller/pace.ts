/** Lets work through at a steady rate, first come first served: for writes that can wait, so that those that cannot find the API free. */

import type { Clock } from 'bgp-ts';

export class Pace {
  readonly #clock: Clock;
  readonly #perSecond: () => number;
  readonly #waiting = new Set<() => void>();
  #nextMs = 0;

  constructor(clock: Clock, perSecond: () => number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** resolves when it is one's turn */
  async take(): Promise<void> {
    const nowMs = this.#clock.now();
    const atMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = atMs + 1000 / this.#perSecond();
    if (atMs <= nowMs) return;
    await new Promise<void>((resolve) => {
      const timer = this.#clock.startTimer(atMs - nowMs, () => go());
      const go = () => {
        timer.cancel();
        this.#waiting.delete(go);
        resolve();
      };
      this.#waiting.add(go);
    });
  }

  /** whoever waits goes on at once: it is over, and they must see that */
  stop(): void {
    for (const go of [...this.#waiting]) go();
  }
}
