/**
 * Bounded waiting. Tests that talk to real processes never sleep and hope: they ask again until the answer
 * is right or a bound has passed, and a failure shows what was seen last instead of "timed out".
 */

import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';

export type PollOptions = {
  /** How long to keep asking. */
  readonly timeoutMs?: number;
  /** Pause between two questions. */
  readonly everyMs?: number;
};

/** What a probe answers: done with a value, or not yet, with what it saw instead. */
export type Probe<T> = { readonly done: true; readonly value: T } | NotYet;
type NotYet = { readonly done: false; readonly seen: unknown };

export const done = <T>(value: T): Probe<T> => ({ done: true, value });
export const notYet = (seen: unknown): NotYet => ({ done: false, seen });

/** What takes milliseconds takes seconds where others have the processors. */
const defaultTimeoutMs = 25_000;
const defaultEveryMs = 50;

/**
 * Asks `probe` until it is done; its value is the result. A probe that throws counts as "not yet", since a
 * router that is still starting refuses its CLI; the last error is part of the failure message.
 *
 * @example await until('the session is up', async () => (await up()) ? done(true) : notYet('down'));
 */
export async function until<T>(
  describe: string,
  probe: () => Promise<Probe<T>> | Probe<T>,
  options: PollOptions = {},
): Promise<T> {
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  const started = performance.now();
  for (let asked = 1; ; asked += 1) {
    let last: unknown;
    try {
      const answer = await probe();
      if (answer.done) return answer.value;
      last = answer.seen;
    } catch (error) {
      last = error;
    }
    const elapsedMs = performance.now() - started;
    if (elapsedMs >= timeoutMs) {
      const seen = last instanceof Error ? `error: ${last.message}` : inspect(last, { depth: 6 });
      throw new Error(
        `not within ${timeoutMs} ms (asked ${asked} times): ${describe}; last seen: ${seen}`,
        last instanceof Error ? { cause: last } : {},
      );
    }
    await delay(Math.min(options.everyMs ?? defaultEveryMs, timeoutMs - elapsedMs));
  }
}

/** For what must not happen there is nothing to ask for but time. */
export async function passes(ms: number): Promise<void> {
  await delay(ms);
}

/** `until` over a value that is read again and again and one condition on it. */
export async function untilValue<T>(
  describe: string,
  read: () => Promise<T> | T,
  accept: (value: T) => boolean,
  options: PollOptions = {},
): Promise<T> {
  return until<T>(
    describe,
    async () => {
      const value = await read();
      return accept(value) ? done(value) : notYet(value);
    },
    options,
  );
}

/** Until a count has not grown for so long: what had begun before has come to its end. */
export async function untilStill(
  describe: string,
  count: () => number,
  stillMs: number,
  options: PollOptions = {},
): Promise<void> {
  let stood = { count: count(), sinceMs: performance.now() };
  await until(
    describe,
    () => {
      const now = { count: count(), sinceMs: performance.now() };
      if (now.count !== stood.count) stood = now;
      return now.sinceMs - stood.sinceMs > stillMs ? done(undefined) : notYet(now.count);
    },
    options,
  );
}
