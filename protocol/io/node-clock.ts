/**
 * The machine's clock. `now` is monotonic, so a step of the wall clock never fires a hold timer.
 *
 * Three habits of setTimeout are hidden here: it may fire up to a millisecond early, because the event loop counts
 * whole milliseconds, no delay at all takes one, and a delay beyond 2^31 - 1 ms fires at once. Timers hold the process up until they are
 * cancelled: whoever starts one owns it.
 */

import type { Clock, Timer } from './clock.ts';

const longestDelayMs = 2 ** 31 - 1;

class NodeTimer implements Timer {
  readonly #dueMs: number;
  readonly #callback: () => void;
  #handle: NodeJS.Timeout | undefined;
  readonly #soon: NodeJS.Immediate | undefined;

  constructor(delayMs: number, callback: () => void) {
    this.#dueMs = performance.now() + delayMs;
    this.#callback = callback;
    if (delayMs > 0) this.#arm(delayMs);
    else this.#soon = setImmediate(callback);
  }

  #arm(delayMs: number): void {
    const waitMs = Math.min(Math.ceil(delayMs), longestDelayMs);
    this.#handle = setTimeout(() => {
      const leftMs = this.#dueMs - performance.now();
      if (leftMs > 0) {
        this.#arm(leftMs);
        return;
      }
      this.#handle = undefined;
      this.#callback();
    }, waitMs);
  }

  cancel(): void {
    clearImmediate(this.#soon);
    clearTimeout(this.#handle);
    this.#handle = undefined;
  }
}

/**
 * Monotonic time and timers of this process.
 *
 * @example
 * const timer = nodeClock.startTimer(1000, () => giveUp());
 * timer.cancel();
 */
export const nodeClock: Clock = {
  now: () => performance.now(),
  wallTimeMs: () => Date.now(),
  startTimer: (delayMs, callback) => new NodeTimer(delayMs, callback),
};
