/**
 * Runs rings one after the other, and says at the end: the slowest files and those over their budget, what failed, what was skipped, what was flaky, and as its last line
 * the sum, `N passed, N failed`.
 */

import { budgetSecondsOf, isLong, type Ring } from './ring-list.ts';
import type { FileResult } from './ring-marks.ts';
import { type Flaky, type Print, type RingResult, runRing, twoResults } from './ring-run.ts';

/** More files than this that pass only alone: that is no accident, and the run is red. */
export const MAX_FLAKY = 3;
/** the end of a long output is looked at first, and is often all that is kept of it */
const FAILURES_SHOWN = 15;
const SLOWEST_SHOWN = 10;

interface Done {
  readonly ring: Ring;
  readonly result: RingResult;
}

interface Sum {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface Options {
  /** a machine that is meant to run everything must not go green on what it could not run */
  readonly isSkippedFailed: boolean;
}

/** True: green. */
export async function runRings(
  rings: readonly Ring[],
  { isSkippedFailed }: Options,
  say: Print,
): Promise<boolean> {
  const done: Done[] = [];
  for (const ring of rings) {
    const started = performance.now();
    say(`\nring ${ring.name}: ${ring.summary}`);
    const result = await runRing(ring, say);
    done.push({ ring, result });
    const seconds = Math.round((performance.now() - started) / 1000);
    const { passed, failed, skipped } = sumOf([result]);
    say(`ring ${ring.name}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${seconds} s`);
    if (result.isStopped) break;
  }
  const sum = sumOf(done.map(({ result }) => result));
  const flaky = done.flatMap(({ ring, result }) =>
    result.flaky.map((each) => ({ ...each, ring: ring.name })),
  );
  const tooMany = flaky.length > MAX_FLAKY ? 1 : 0;
  const failed = sum.failed + tooMany + (isSkippedFailed ? sum.skipped : 0);
  sayTimes(done, say);
  sayFailures(done, say);
  if (sum.skipped > 0) {
    const verdict = isSkippedFailed
      ? 'counted as failed, since CI=true'
      : 'NOT RUN on this machine';
    say(`${sum.skipped} skipped: ${verdict}`);
  }
  sayFlaky(flaky, say);
  say(`${sum.passed} passed, ${failed} failed`);
  return failed === 0 && sum.passed > 0;
}

function sumOf(rings: readonly RingResult[]): Sum {
  const files = rings.flatMap(({ results }) => results);
  const of = (pick: (each: FileResult) => number) =>
    files.reduce((sum, each) => sum + pick(each), 0);
  return {
    passed: of(({ passed }) => passed),
    failed: of(({ failed }) => failed) + rings.reduce((sum, { loose }) => sum + loose, 0),
    skipped: of(({ skipped }) => skipped),
  };
}

function sayTimes(done: readonly Done[], say: Print): void {
  const timed = done.flatMap(({ ring, result }) =>
    result.results.map(({ file, ms }) => ({
      file,
      seconds: Math.round(ms / 1000),
      budget: budgetSecondsOf(ring, file),
    })),
  );
  const slowest = timed.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_SHOWN);
  say('\nslowest files:');
  for (const { file, seconds } of slowest) say(`  ${String(seconds).padStart(5)} s  ${file}`);
  // the long form of a test takes as long as it takes
  if (isLong()) return;
  const over = timed.filter(({ seconds, budget }) => seconds > budget);
  say(over.length === 0 ? 'over budget: none' : 'over budget:');
  for (const { file, seconds, budget } of over) {
    say(`  ${String(seconds).padStart(5)} s  ${file}, whose budget is ${budget} s`);
  }
}

function sayFailures(done: readonly Done[], say: Print): void {
  const lines = done.flatMap(({ ring, result }) =>
    result.failures.map((failure) => `${ring.name}: ${failure}`),
  );
  for (const line of lines.slice(0, FAILURES_SHOWN)) say(`FAILED ${line}`);
  if (lines.length > FAILURES_SHOWN) say(`… and ${lines.length - FAILURES_SHOWN} more`);
}

function sayFlaky(flaky: readonly (Flaky & { readonly ring: string })[], say: Print): void {
  if (flaky.length > MAX_FLAKY) {
    say(`FAILED ${flaky.length} files passed only when they ran again, more than ${MAX_FLAKY}`);
  }
  say(flaky.length === 0 ? 'flaky: none' : 'flaky:');
  for (const { ring, first, second } of flaky) {
    say(`  ${ring}: ${first.file}: ${twoResults({ first, second })}`);
    for (const failure of first.failures) say(`    ${failure}`);
  }
}
