/**
 * Runs checks: asks each target at its interval, steps its verdict, and says when something about it has changed. Time, randomness
 * and the probe come in as arguments. It decides nothing about routes.
 *
 * Per check there is never more than one question out; the interval counts from start to start, and a target slower than
 * its interval is asked again as soon as it has answered. A new check is asked at once; only where very many are new
 * together are their first questions spread.
 */

import type { Clock, Random, Timer } from 'bgp-ts';
import type { CheckSpec, CheckTarget } from '../model/check-spec.ts';
import { formatTarget } from './parse-target.ts';
import type { Ask } from './probe-bounds.ts';
import {
  type Answer,
  adoptSpec,
  describeVerdict,
  initialVerdict,
  stepVerdict,
  tickVerdict,
  type Verdict,
  verdictOpensAt,
} from './verdict.ts';

/**
 * One question to one target. A probe answers exactly once, within its timeout, and never throws: whatever goes wrong out there
 * is a failure with a sentence. When its signal is aborted it lets go of all it holds, and says nothing.
 *
 * Answers come by callback, not by promise: a route waits for the last of them, and a manual clock needs no turn of the loop.
 */
export type Probe = (target: CheckTarget, ask: Ask) => void;

export interface CheckRunnerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly probe: Probe;
  /**
   * Called in the very turn in which an answer (or the end of a settle time) changes whether the check is open, or what is to be
   * said about it. An answer like the one before calls nothing. May call `apply`.
   */
  readonly onChange: (key: string, verdict: Verdict) => void;
}

/** What is known about a check, for status. */
export interface CheckReport {
  readonly verdict: Verdict;
  readonly sentence: string;
  /** wall-clock time of the last answer */
  readonly answeredAtMs?: number;
}

/** so many new checks are asked in the same moment; beyond, about one per millisecond, within the first interval */
const AT_ONCE = 100;

interface Check {
  spec: CheckSpec;
  verdict: Verdict;
  sentence: string;
  startedAtMs: number;
  answeredAtMs: number | undefined;
  /** aborts the question that is out; undefined while none is */
  asking: AbortController | undefined;
  nextTimer: Timer | undefined;
  settleTimer: Timer | undefined;
}

export class CheckRunner {
  readonly #options: CheckRunnerOptions;
  readonly #checks = new Map<string, Check>();

  constructor(options: CheckRunnerOptions) {
    this.#options = options;
  }

  /**
   * Makes it so that exactly these checks run. What is asked decides what is kept: while the target is the same its answers so
   * far count on, under the new interval, timeout and counts; another target starts from nothing. The others notice nothing.
   */
  apply(wanted: ReadonlyMap<string, CheckSpec>): void {
    for (const [key, check] of this.#checks) {
      const spec = wanted.get(key);
      if (spec === undefined || !isSameTarget(check.spec.target, spec.target))
        this.#drop(key, check);
      else if (!isSameSpec(check.spec, spec)) this.#retune(key, check, spec);
    }
    const fresh = [...wanted].filter(([key]) => !this.#checks.has(key));
    for (const [key, spec] of fresh) this.#checks.set(key, newCheck(spec));
    fresh.forEach(([key, spec], index) => {
      const check = this.#checks.get(key);
      // an answer in the same turn may have led to another apply()
      if (check === undefined || check.spec !== spec || isUnderWay(check)) return;
      if (index < AT_ONCE) this.#ask(key, check);
      else this.#askAfter(key, check, this.#spreadMs(spec, fresh.length));
    });
  }

  verdict(key: string): Verdict | undefined {
    return this.#checks.get(key)?.verdict;
  }

  report(key: string): CheckReport | undefined {
    const check = this.#checks.get(key);
    if (check === undefined) return undefined;
    const { verdict, sentence, answeredAtMs } = check;
    return { verdict, sentence, ...(answeredAtMs === undefined ? {} : { answeredAtMs }) };
  }

  /** Lets go of everything: no timer, no socket, no process of ours stays. */
  stop(): void {
    for (const [key, check] of this.#checks) this.#drop(key, check);
  }

  #spreadMs(spec: CheckSpec, count: number): number {
    return this.#options.random.next() * Math.min(spec.intervalMs, count);
  }

  #drop(key: string, check: Check): void {
    this.#checks.delete(key);
    check.nextTimer?.cancel();
    check.settleTimer?.cancel();
    check.asking?.abort();
  }

  #retune(key: string, check: Check, spec: CheckSpec): void {
    const { clock } = this.#options;
    check.spec = spec;
    check.verdict = adoptSpec(check.verdict, spec);
    check.sentence = describeVerdict(check.verdict, spec);
    this.#watchSettling(key, check);
    // a question that is out goes on under its old timeout; the next one starts by the new interval
    if (check.asking !== undefined || check.answeredAtMs === undefined) return;
    this.#askAfter(key, check, check.startedAtMs + spec.intervalMs - clock.now());
  }

  #askAfter(key: string, check: Check, delayMs: number): void {
    check.nextTimer?.cancel();
    check.nextTimer = this.#options.clock.startTimer(Math.max(delayMs, 0), () =>
      this.#ask(key, check),
    );
  }

  #ask(key: string, check: Check): void {
    const asking = new AbortController();
    check.nextTimer = undefined;
    check.asking = asking;
    check.startedAtMs = this.#options.clock.now();
    this.#options.probe(check.spec.target, {
      timeoutMs: check.spec.timeoutMs,
      lane: check.spec.isNodeWide === true ? 'join' : 'claim',
      signal: asking.signal,
      answer: (answer) => {
        if (check.asking !== asking || asking.signal.aborted) return;
        check.asking = undefined;
        this.#answered(key, check, answer);
      },
    });
  }

  #answered(key: string, check: Check, answer: Answer): void {
    const { clock } = this.#options;
    const { spec, startedAtMs } = check;
    const nowMs = clock.now();
    check.answeredAtMs = clock.wallTimeMs();
    const verdict = stepVerdict(check.verdict, answer, spec, nowMs);
    this.#askAfter(key, check, startedAtMs + spec.intervalMs - nowMs);
    this.#become(key, check, verdict);
  }

  #watchSettling(key: string, check: Check): void {
    const { clock } = this.#options;
    const opensAtMs = verdictOpensAt(check.verdict);
    check.settleTimer?.cancel();
    check.settleTimer = undefined;
    if (opensAtMs === undefined) return;
    check.settleTimer = clock.startTimer(Math.max(opensAtMs - clock.now(), 0), () => {
      this.#become(key, check, tickVerdict(check.verdict, clock.now()));
    });
  }

  /** last in its turn: the callback may change everything here */
  #become(key: string, check: Check, verdict: Verdict): void {
    const before = check.verdict;
    const sentence = describeVerdict(verdict, check.spec);
    const isEnough = ({ failuresInRow }: Verdict) => failuresInRow >= check.spec.failures;
    const isNews =
      verdict.open !== before.open ||
      // it never was open, and its owner may have gone on without it until now
      isEnough(verdict) !== isEnough(before) ||
      sentence !== check.sentence;
    check.verdict = verdict;
    check.sentence = sentence;
    if (
      verdictOpensAt(verdict) !== verdictOpensAt(before) ||
      verdictOpensAt(verdict) !== undefined
    ) {
      this.#watchSettling(key, check);
    }
    if (isNews) this.#options.onChange(key, verdict);
  }
}

function newCheck(spec: CheckSpec): Check {
  const verdict = initialVerdict(spec);
  return {
    spec,
    verdict,
    sentence: describeVerdict(verdict, spec),
    startedAtMs: 0,
    answeredAtMs: undefined,
    asking: undefined,
    nextTimer: undefined,
    settleTimer: undefined,
  };
}

function isUnderWay(check: Check): boolean {
  return check.asking !== undefined || check.nextTimer !== undefined;
}

function isSameTarget(a: CheckTarget, b: CheckTarget): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || formatTarget(a) !== formatTarget(b)) return false;
  return a.kind !== 'http' || b.kind !== 'http' || (a.caFile === b.caFile && a.pin === b.pin);
}

/** of the same target */
function isSameSpec(a: CheckSpec, b: CheckSpec): boolean {
  return (
    a.intervalMs === b.intervalMs &&
    a.timeoutMs === b.timeoutMs &&
    a.successes === b.successes &&
    a.failures === b.failures &&
    a.settleMs === b.settleMs
  );
}
