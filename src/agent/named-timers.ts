/** Timers by name on one clock: starting one again replaces it, and all end together. */

import type { Clock, Timer } from 'bgp-ts';

export class NamedTimers {
  readonly #clock: Clock;
  readonly #timers = new Map<string, Timer>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(name: string, delayMs: number, work: () => void): void {
    this.cancel(name);
    if (this.#isClosed) return;
    const timer = this.#clock.startTimer(Math.max(0, delayMs), () => {
      this.#timers.delete(name);
      work();
    });
    this.#timers.set(name, timer);
  }

  /** the first start counts: what is due stays due */
  startOnce(name: string, delayMs: number, work: () => void): void {
    if (!this.#timers.has(name)) this.start(name, delayMs, work);
  }

  every(name: string, periodMs: number, work: () => void): void {
    this.start(name, periodMs, () => {
      work();
      this.every(name, periodMs, work);
    });
  }

  cancel(name: string): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }

  cancelAll(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** All end, and none is started any more: sessions that are closed after this have news, too. */
  close(): void {
    this.cancelAll();
    this.#isClosed = true;
  }
}
