/** Ctrl-C, or a kill, in the middle of a story: what was made is taken away, and the exit status says by what it was ended. */

import { setTimeout as delay } from 'node:timers/promises';

const STATUS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
type EndingSignal = keyof typeof STATUS;
const SIGNALS: readonly EndingSignal[] = ['SIGHUP', 'SIGINT', 'SIGTERM'];

export class BrokenOff extends Error {
  readonly status: number;

  constructor(signal: EndingSignal) {
    super(`broken off by ${signal}`);
    this.status = STATUS[signal];
  }
}

/** Aborted by the first signal, with a BrokenOff; the second one ends this process at once, as ever. */
export function untilBrokenOff(): AbortSignal {
  const broken = new AbortController();
  for (const signal of SIGNALS) process.once(signal, () => broken.abort(new BrokenOff(signal)));
  return broken.signal;
}

/** a story comes to its next step sooner, unless it waits for a program */
const LAST_STEP_MS = 10_000;

/** The end of the story, or an error when it was broken off and has had its time to notice. */
export async function orBrokenOff<T>(story: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = new AbortController();
  const broken = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { signal: over.signal });
  });
  const tooLate = async () => {
    await broken;
    await delay(LAST_STEP_MS, undefined, { signal: over.signal });
    throw signal.reason;
  };
  // what it says when nobody waits for it any more
  story.catch(() => undefined);
  try {
    const late = tooLate();
    late.catch(() => undefined);
    return await Promise.race([story, late]);
  } finally {
    over.abort();
  }
}
