/**
 * One ring from its first file to its last. A process that dies costs the file in which it stood, and the rest goes on in another one. A file that failed is run
 * once more at the end, alone: when that passes, the file counts as passed and is told as flaky; when it fails again, it has failed.
 */

import { globSync } from 'node:fs';
import { fileLimitMinutesOf, limitMinutesOf, type Ring } from './ring-list.ts';
import type { FileResult } from './ring-marks.ts';
import { type ProcessResult, runInProcess } from './ring-process.ts';

export type Print = (line: string) => void;

/** a file that failed and then passed alone */
export interface Flaky {
  readonly first: FileResult;
  readonly second: FileResult;
}

export interface RingResult {
  /** what counts of each file */
  readonly results: readonly FileResult[];
  readonly failures: readonly string[];
  /** failures that belong to no file */
  readonly loose: number;
  readonly flaky: readonly Flaky[];
  readonly isStopped: boolean;
}

/** So many processes of one ring may die: what kills each of them is not one file. */
const MAX_DEATHS = 5;
/** So many files of a ring run again. With more than a few the run is red whatever they do, and these are enough to see why. */
export const MAX_SECOND_RUNS = 10;

/** until a process has loaded what it runs */
const START_MINUTES = 1;

const minutes = (count: number): number => count * 60_000;
const secondsOf = (ms: number): number => Math.round(ms / 1000);

export async function runRing(ring: Ring, say: Print): Promise<RingResult> {
  const files = globSync([...ring.files]).toSorted();
  if (files.length === 0) {
    const failures = [`no file is named ${ring.files.join(' or ')}`];
    return { results: [], failures, loose: 1, flaky: [], isStopped: false };
  }
  const untilMs = performance.now() + minutes(limitMinutesOf(ring));
  const first =
    ring.atOnce === undefined
      ? await runTogether({ ring, files, untilMs }, say)
      : await runApart({ ring, files, untilMs }, say);
  const again = first.isStopped ? NO_SECOND : await runAgain(ring, first.results, say);
  const { loose } = first;
  return {
    results: first.results.map((result) => again.results.get(result.file) ?? result),
    failures: [...loose, ...first.results.flatMap((each) => failuresOf(each, again))],
    loose: loose.length,
    flaky: again.flaky,
    isStopped: first.isStopped,
  };
}

interface FirstRun {
  readonly results: readonly FileResult[];
  readonly loose: readonly string[];
  readonly isStopped: boolean;
}

interface Work {
  readonly ring: Ring;
  readonly files: readonly string[];
  /** on the clock of `performance.now()` */
  readonly untilMs: number;
}

/** All files in one process, and in another where that one dies. */
async function runTogether({ ring, files, untilMs }: Work, say: Print): Promise<FirstRun> {
  const book = new Book(say);
  const { timeoutMs } = ring;
  const fileLimitMs = minutes(fileLimitMinutesOf(ring));
  let left = files;
  for (let deaths = 0; left.length > 0; deaths += 1) {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0 || deaths === MAX_DEATHS) {
      const why = leftMs <= 0 ? 'the suite had used its time' : `${deaths} processes had died`;
      book.skip(left, why);
      break;
    }
    const run = await runInProcess({ files: left, timeoutMs, fileLimitMs, limitMs: leftMs }, say);
    left = book.enter(left, run);
    if (run.isStopped) return { ...book.close(), isStopped: true };
  }
  return { ...book.close(), isStopped: false };
}

/** What came of each file so far. */
class Book {
  readonly #results = new Map<string, FileResult>();
  readonly #loose: string[] = [];
  readonly #say: Print;

  constructor(say: Print) {
    this.#say = say;
  }

  /** Which of these files still have to run. */
  enter(files: readonly string[], { results, trouble }: ProcessResult): readonly string[] {
    for (const [file, result] of results) this.#results.set(file, result);
    if (trouble === undefined) {
      for (const file of files) if (!hasRun(results.get(file))) this.#fail(file, 'has no test');
      return [];
    }
    const { file, sentence } = trouble;
    if (file === undefined) {
      this.#tell(`the process ${sentence}`);
      return [];
    }
    this.#fail(file, sentence);
    return files.filter((each) => each !== file && !results.has(each));
  }

  skip(files: readonly string[], why: string): void {
    for (const file of files) this.#tell(`${file} was not run: ${why}`);
  }

  close(): Omit<FirstRun, 'isStopped'> {
    const results = [...this.#results.values()];
    // a hook outside of all files has no name
    const nameless = results.filter(({ file }) => file === '').flatMap(({ failures }) => failures);
    return {
      results: results.filter(({ file }) => file !== ''),
      loose: [...this.#loose, ...nameless],
    };
  }

  #fail(file: string, sentence: string): void {
    const had = this.#results.get(file) ?? emptyResult(file);
    const failures = [...had.failures, `${file}: it ${sentence}`];
    this.#results.set(file, { ...had, failed: had.failed + 1, failures });
    this.#say(`${file}: FAILED, it ${sentence}`);
  }

  #tell(sentence: string): void {
    this.#loose.push(sentence);
    this.#say(`FAILED: ${sentence}`);
  }
}

const hasRun = (result: FileResult | undefined): boolean =>
  result !== undefined && result.passed + result.failed + result.skipped > 0;

function emptyResult(file: string): FileResult {
  return { file, passed: 0, failed: 0, skipped: 0, ms: 0, failures: [] };
}

/** Each file by itself, some at the same time; what one prints is shown in one piece when it is done. */
async function runApart({ ring, files, untilMs }: Work, say: Print): Promise<FirstRun> {
  const { atOnce = 1, first = [] } = ring;
  const isFirst = (file: string) => first.some((name) => file.endsWith(`/${name}`));
  const waiting = [...files.filter(isFirst), ...files.filter((file) => !isFirst(file))];
  const runs: FirstRun[] = [];
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const started = performance.now();
      const lines: string[] = [];
      const run = await runTogether({ ring, files: [file], untilMs }, (line) => lines.push(line));
      const seconds = secondsOf(performance.now() - started);
      say([...lines, `${file}: ${seconds} s, ${waiting.length} files to go`].join('\n'));
      runs.push(run);
      if (run.isStopped) waiting.length = 0;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return {
    results: runs.flatMap(({ results }) => results),
    loose: runs.flatMap(({ loose }) => loose),
    isStopped: runs.some(({ isStopped }) => isStopped),
  };
}

interface Second {
  /** of the files that were run again */
  readonly results: ReadonlyMap<string, FileResult>;
  readonly flaky: readonly Flaky[];
}

const NO_SECOND: Second = { results: new Map(), flaky: [] };

async function runAgain(ring: Ring, all: readonly FileResult[], say: Print): Promise<Second> {
  const failed = all.filter(({ failed: count }) => count > 0);
  const results = new Map<string, FileResult>();
  const flaky: Flaky[] = [];
  for (const first of failed.slice(0, MAX_SECOND_RUNS)) {
    const { file } = first;
    say(`\nring ${ring.name}: once more, alone: ${file}`);
    const untilMs = performance.now() + minutes(fileLimitMinutesOf(ring) + START_MINUTES);
    const run = await runTogether({ ring, files: [file], untilMs }, say);
    const second = run.results[0] ?? { ...emptyResult(file), failed: 1, failures: run.loose };
    const isWell = run.loose.length === 0 && passesAfter(first, second);
    const counted = isWell || second.failed > 0 ? second : failedShort(second);
    results.set(file, counted);
    if (isWell) flaky.push({ first, second });
    say(`${file}: ${twoResults({ first, second: counted })}`);
    if (run.isStopped) break;
  }
  if (failed.length > MAX_SECOND_RUNS) {
    say(`${failed.length - MAX_SECOND_RUNS} more files failed and are not run again`);
  }
  return { results, flaky };
}

/** A second run that does less than the first one is no answer to it. */
function passesAfter(first: FileResult, second: FileResult): boolean {
  return second.failed === 0 && second.passed > 0 && second.passed >= first.passed;
}

function failedShort(second: FileResult): FileResult {
  const sentence = `${second.file}: it passed ${second.passed} tests, fewer than in its first run`;
  return { ...second, failed: 1, failures: [sentence] };
}

const countOf = ({ passed, failed, ms }: FileResult): string =>
  `${passed} passed, ${failed} failed, ${secondsOf(ms)} s`;

export function twoResults({ first, second }: Flaky): string {
  return `first run ${countOf(first)}; second run, alone, ${countOf(second)}`;
}

/** the lines of one file for the end of the whole run */
function failuresOf(first: FileResult, again: Second): readonly string[] {
  const { file } = first;
  const second = again.results.get(file);
  if (second === undefined) return first.failures;
  if (second.failed === 0) return [];
  const named = (run: string) => (line: string) =>
    `${run} run of ${file}: ${line.replace(`${file}: `, '')}`;
  return [...first.failures.map(named('first')), ...second.failures.map(named('second'))];
}
