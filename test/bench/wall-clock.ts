/**
 * The bench's clock: wall time in milliseconds with sub-millisecond steps, on the same scale as the time stamps that
 * BIRD prints. `Date.now()` steps in whole milliseconds and `performance.timeOrigin` drifts away from a clock that
 * is being disciplined, so the monotonic clock is tied to the wall clock again before each run.
 */

const maxAgeMs = 5_000;

let offsetMs = 0;
let anchoredAtMs = Number.NEGATIVE_INFINITY;

/** Ties the two clocks together at the edge of a millisecond; takes up to one millisecond. */
export function anchorWallClock(): void {
  const before = Date.now();
  let edge = before;
  while (edge === before) edge = Date.now();
  anchoredAtMs = performance.now();
  offsetMs = edge - anchoredAtMs;
}

export function wallMs(): number {
  if (performance.now() - anchoredAtMs > maxAgeMs) anchorWallClock();
  return performance.now() + offsetMs;
}
