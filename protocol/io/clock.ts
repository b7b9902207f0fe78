/** Time as an argument. The real one is node-clock.ts; tests use a manual one that passes the same suite. */

export interface Clock {
  /** milliseconds that only ever grow; the zero is arbitrary */
  now(): number;
  /** wall-clock time, for what people read */
  wallTimeMs(): number;
  /** calls back once, not before `delayMs` has passed */
  startTimer(delayMs: number, callback: () => void): Timer;
}

export interface Timer {
  /** after this the callback never runs; harmless when it has run */
  cancel(): void;
}
