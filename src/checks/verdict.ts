/**
 * The verdict on one check: answers in, open or closed out. Pure; check-runner.ts asks and keeps the time.
 *
 * It starts closed and opens after `successes` answers in a row, not before `settleMs` has passed since the first of them; it
 * closes after `failures` in a row. One answer fewer changes nothing, so a server that stumbles once costs no route, and one that
 * comes up for a moment gets none. A failure never opens anything, however late the clock is read.
 */

import type { CheckSpec } from '../model/check-spec.ts';
import { formatTarget } from './parse-target.ts';

export interface Verdict {
  readonly open: boolean;
  /** an answer has come, good or bad */
  readonly known: boolean;
  readonly passesInRow: number;
  readonly failuresInRow: number;
  /** of the passes in a row; on the monotonic clock */
  readonly firstPassMs?: number;
  /** enough successes, and the settle time still runs: opens then if nothing fails */
  readonly opensAtMs?: number;
  /** of the last answer, for people */
  readonly lastSentence: string;
}

export interface Answer {
  readonly kind: 'pass' | 'fail';
  /** what was seen, one sentence without a full stop */
  readonly sentence: string;
}

export function initialVerdict(spec: CheckSpec): Verdict {
  return {
    open: false,
    known: false,
    passesInRow: 0,
    failuresInRow: 0,
    lastSentence: `${formatTarget(spec.target)} has not been asked yet`,
  };
}

export function stepVerdict(
  verdict: Verdict,
  answer: Answer,
  spec: CheckSpec,
  nowMs: number,
): Verdict {
  return answer.kind === 'pass'
    ? passed(verdict, answer.sentence, spec, nowMs)
    : failed(verdict, answer.sentence, spec);
}

function passed(verdict: Verdict, sentence: string, spec: CheckSpec, nowMs: number): Verdict {
  const passesInRow = verdict.passesInRow + 1;
  const firstPassMs = verdict.firstPassMs ?? nowMs;
  const opensAtMs = firstPassMs + spec.settleMs;
  const isEnough = passesInRow >= spec.successes;
  const open = verdict.open || (isEnough && nowMs >= opensAtMs);
  return {
    open,
    known: true,
    passesInRow,
    failuresInRow: 0,
    firstPassMs,
    ...(!open && isEnough ? { opensAtMs } : {}),
    lastSentence: sentence,
  };
}

function failed(verdict: Verdict, sentence: string, spec: CheckSpec): Verdict {
  const failuresInRow = verdict.failuresInRow + 1;
  return {
    open: verdict.open && failuresInRow < spec.failures,
    known: true,
    passesInRow: 0,
    failuresInRow,
    lastSentence: sentence,
  };
}

/** The same answers under other counts and times; they decide from the next answer on, so that an edit alone closes nothing. */
export function adoptSpec(verdict: Verdict, spec: CheckSpec): Verdict {
  const { opensAtMs: _, ...rest } = verdict;
  const { open, firstPassMs, passesInRow } = rest;
  if (open || firstPassMs === undefined || passesInRow < spec.successes) return rest;
  return { ...rest, opensAtMs: firstPassMs + spec.settleMs };
}

/** when it opens if nothing fails until then; undefined while that is not a matter of time alone */
export function verdictOpensAt(verdict: Verdict): number | undefined {
  return verdict.opensAtMs;
}

/** Opens what has settled by now; the same object when there is nothing to do. */
export function tickVerdict(verdict: Verdict, nowMs: number): Verdict {
  const { opensAtMs, ...rest } = verdict;
  return opensAtMs === undefined || nowMs < opensAtMs ? verdict : { ...rest, open: true };
}

/** One sentence for people, without a full stop. It stands still while nothing changes: no counter that runs on. */
export function describeVerdict(verdict: Verdict, spec: CheckSpec): string {
  const { open, passesInRow, failuresInRow, lastSentence } = verdict;
  if (!verdict.known) return lastSentence;
  if (open && failuresInRow > 0) {
    return `${lastSentence} (${failuresInRow} of ${spec.failures} failures before it closes)`;
  }
  if (open || passesInRow === 0) return lastSentence + rowText(passesInRow, spec);
  if (passesInRow < spec.successes) {
    return `${lastSentence} (${passesInRow} of ${spec.successes} successes before it opens)`;
  }
  return `${lastSentence} (settling: opens ${spec.settleMs / 1000} s after the first success)`;
}

function rowText(passesInRow: number, { successes }: CheckSpec): string {
  return successes > 1 && passesInRow >= successes ? `, at least ${successes} times in a row` : '';
}
