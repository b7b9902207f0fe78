/**
 * Runs test rings and counts. A ring is a set of mocha files with one purpose; each runs in a process of its own, or each of its files does, and ends with
 *
 *   ring NAME: N passed, N failed, N skipped, T s
 *
 * and the whole run with the names of what failed and the sum, `N passed, N failed`. With CI=true a skipped test is a failed one: a machine that is meant
 * to run everything must not go green on what it could not run. A ring that crashes, or that is not done within its limit, is
 * one failure more and a sentence that says so; one that hangs is ended together with the programs that it started.
 */

import { globSync } from 'node:fs';
import { isLong, RINGS, type Ring } from './ring-list.ts';
import { NOTHING, type Outcome, runInProcess } from './ring-process.ts';

/** the end of a long output is what is looked at first, and often all that is kept of it */
const FAILURES_SHOWN = 15;
const LONG_ROUNDS = 3;
const NONE: Outcome = { ...NOTHING, failures: [] };

async function main(args: readonly string[]): Promise<number> {
  const usual = RINGS.filter(({ isOnDemand }) => isOnDemand !== true);
  const wanted = args.length === 0 ? usual.map((ring) => ring.name) : args;
  const unknown = wanted.find((name) => RINGS.every((ring) => ring.name !== name));
  if (unknown !== undefined) {
    process.stderr.write(`no ring ${unknown}; there are: ${RINGS.map((r) => r.name).join(', ')}\n`);
    return 2;
  }
  let total = NONE;
  const rings = RINGS.filter(({ name }) => wanted.includes(name));
  // Properties draw other cases each time, and what depends on time meets other moments.
  const rounds = isLong() ? LONG_ROUNDS : 1;
  const repeated = rings.filter(({ longLimitMinutes }) => longLimitMinutes === undefined);
  const order = Array.from({ length: rounds - 1 }, () => repeated).flat();
  for (const ring of [...rings, ...order]) {
    const { failures, ...count } = await runRing(ring);
    const named = failures.map((failure) => `${ring.name}: ${failure}`);
    total = sumOf(total, { ...count, failures: named });
  }
  const { failures } = total;
  for (const line of failures.slice(0, FAILURES_SHOWN)) process.stdout.write(`FAILED ${line}\n`);
  if (failures.length > FAILURES_SHOWN) {
    process.stdout.write(`… and ${failures.length - FAILURES_SHOWN} more\n`);
  }
  if (total.skipped > 0) {
    const verdict = isCi() ? 'counted as failed, since CI=true' : 'NOT RUN on this machine';
    process.stdout.write(`${total.skipped} skipped: ${verdict}\n`);
  }
  const failed = total.failed + (isCi() ? total.skipped : 0);
  process.stdout.write(`${total.passed} passed, ${failed} failed\n`);
  return failed === 0 && total.passed > 0 ? 0 : 1;
}

function isCi(): boolean {
  return process.env['CI'] === 'true';
}

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function runRing(ring: Ring): Promise<Outcome> {
  const started = performance.now();
  say(`\nring ${ring.name}: ${ring.summary}`);
  const files = globSync([...ring.files]).toSorted();
  const limitMinutes = (isLong() ? ring.longLimitMinutes : undefined) ?? ring.limitMinutes;
  const outcome =
    ring.atOnce === undefined || files.length === 0
      ? await runInProcess({ ring: ring.name, files, limitMinutes }, say)
      : await runApart(ring, files, limitMinutes);
  const seconds = Math.round((performance.now() - started) / 1000);
  const { passed, failed, skipped } = outcome;
  say(`ring ${ring.name}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${seconds} s`);
  return outcome;
}

/** Each file by itself, some at the same time; what one prints is shown in one piece when it is done. */
async function runApart(
  ring: Ring,
  files: readonly string[],
  limitMinutes: number,
): Promise<Outcome> {
  const { atOnce = 1, first = [] } = ring;
  const isFirst = (file: string) => first.some((name) => file.endsWith(`/${name}`));
  const waiting = [...files.filter(isFirst), ...files.filter((file) => !isFirst(file))];
  const outcomes: Outcome[] = [];
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const started = performance.now();
      const lines: string[] = [];
      const task = { ring: ring.name, files: [file], limitMinutes };
      const outcome = await runInProcess(task, (line) => lines.push(line));
      const seconds = Math.round((performance.now() - started) / 1000);
      say([...lines, `${file}: ${seconds} s, ${waiting.length} files to go`].join('\n'));
      outcomes.push(outcome);
      if (outcome.isStopped === true) waiting.length = 0;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return outcomes.reduce(sumOf, NONE);
}

function sumOf(a: Outcome, b: Outcome): Outcome {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    failures: [...a.failures, ...b.failures],
  };
}

process.exitCode = await main(process.argv.slice(2));
