/** Time that passes in steps, with the answers of an API in memory coming in between. */

import type { ManualClock } from '../../../support/manual-clock.ts';

const STEP_MS = 50;

export async function pass(clock: ManualClock, ms: number): Promise<void> {
  await answers();
  for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
    clock.advance(Math.min(STEP_MS, ms - passedMs));
    await answers();
  }
}

/** what has been asked for is answered */
export async function answers(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
