/**
 * What all probes share: the hard limit of time, the one answer, and that everything is let go of whichever way it ends. And the
 * rules for foreign text: one line, bounded, without control characters, since it ends on terminals.
 */

import type { CheckTarget } from '../model/check-spec.ts';
import type { Lane } from './file-threads.ts';
import type { Answer } from './verdict.ts';

export interface Ask {
  readonly timeoutMs: number;
  /** whose threads look at files; those of claims where it is absent */
  readonly lane?: Lane;
  /** aborted: nobody waits for the answer any more */
  readonly signal: AbortSignal;
  readonly answer: (answer: Answer) => void;
}

export type TargetOf<Kind extends CheckTarget['kind']> = Extract<CheckTarget, { kind: Kind }>;

/** A question under way. */
export interface Attempt {
  /** closes sockets, kills processes; called once, also after the answer */
  release(): void;
  /** how the target was found when the time was over; the limit follows, as in "… did not answer" within 1 s */
  late(): string;
}

export const pass = (sentence: string): Answer => ({ kind: 'pass', sentence });
export const fail = (sentence: string): Answer => ({ kind: 'fail', sentence });

export function runBounded(ask: Ask, start: (finish: (answer: Answer) => void) => Attempt): void {
  if (ask.signal.aborted) return;
  let isOver = false;
  let attempt: Attempt | undefined;
  const end = () => {
    isOver = true;
    clearTimeout(timer);
    ask.signal.removeEventListener('abort', end);
    attempt?.release();
  };
  const finish = (answer: Answer) => {
    if (isOver) return;
    end();
    ask.answer(answer);
  };
  const timer = setTimeout(() => {
    finish(fail(`${attempt?.late()} within ${ask.timeoutMs / 1000} s`));
  }, ask.timeoutMs);
  ask.signal.addEventListener('abort', end, { once: true });
  const started = start(finish);
  attempt = started;
  if (isOver) started.release();
}

const MAX_LINE = 200;

/** The first line with something in it, made safe to print; '' when there is none. */
export function firstLine(text: string): string {
  for (const line of text.split(/[\r\n]+/)) {
    const clean = printable(line);
    if (clean !== '') return clean;
  }
  return '';
}

function printable(line: string): string {
  const clean = line.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return clean.length <= MAX_LINE ? clean : `${clean.slice(0, MAX_LINE - 1)}…`;
}
