/**
 * A clock that stands still until a test moves it. Timers fire in the order of their due time, equal ones in the order
 * they were started, and a timer started by a callback fires in the same `advance` if it is due by then.
 */

import type { Clock, Timer } from '../../protocol/io/clock.ts';

type Entry = { readonly dueMs: number; readonly order: number; readonly callback: () => void };

const wallStartMs = Date.UTC(2026, 0, 1);

export class ManualClock implements Clock {
  #nowMs = 0;
  #started = 0;
  readonly #entries = new Set<Entry>();

  now(): number {
    return this.#nowMs;
  }

  wallTimeMs(): number {
    return wallStartMs + this.#nowMs;
  }

  startTimer(delayMs: number, callback: () => void): Timer {
    this.#started += 1;
    const entry = { dueMs: this.#nowMs + Math.max(delayMs, 0), order: this.#started, callback };
    this.#entries.add(entry);
    return { cancel: () => void this.#entries.delete(entry) };
  }

  /** timers that wait: zero after a clean stop */
  get pendingTimers(): number {
    return this.#entries.size;
  }

  /** milliseconds until the next timer; undefined when none waits */
  get nextTimerMs(): number | undefined {
    const first = this.#first();
    return first === undefined ? undefined : first.dueMs - this.#nowMs;
  }

  /** moves the clock, firing what becomes due on the way, each at its own time */
  advance(ms: number): void {
    const targetMs = this.#nowMs + ms;
    for (;;) {
      const entry = this.#first();
      if (entry === undefined || entry.dueMs > targetMs) break;
      this.#entries.delete(entry);
      this.#nowMs = entry.dueMs;
      entry.callback();
    }
    this.#nowMs = targetMs;
  }

  /** fires what is due now, without what that starts: one turn */
  turn(): void {
    const due = [...this.#entries].filter(({ dueMs }) => dueMs <= this.#nowMs);
    for (const entry of due.toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order)) {
      if (this.#entries.delete(entry)) entry.callback();
    }
  }

  #first(): Entry | undefined {
    let first: Entry | undefined;
    for (const entry of this.#entries) {
      if (first === undefined || entry.dueMs < first.dueMs) first = entry;
      else if (entry.dueMs === first.dueMs && entry.order < first.order) first = entry;
    }
    return first;
  }
}
