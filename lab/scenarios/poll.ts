/** Waiting for something to become true: asked again and again, with an end, and with what was seen last in the error. */

import { setTimeout as delay } from 'node:timers/promises';

export interface Patience {
  readonly withinMs?: number;
  readonly everyMs?: number;
}

export async function eventually<T>(
  what: string,
  look: () => Promise<T>,
  problemOf: (found: T) => string | undefined,
  { withinMs = 60_000, everyMs = 200 }: Patience = {},
): Promise<T> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    const problem = problemOf(found);
    if (problem === undefined) return found;
    if (performance.now() > endMs)
      throw new Error(`${what}: not within ${withinMs / 1000} s: ${problem}`);
    await delay(everyMs);
  }
}
