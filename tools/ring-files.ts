/** The process in which files of a ring run: mocha, and marks that say what came of each file. usage: ring-files.ts TIMEOUT-MS FILE… */

import { resolve } from 'node:path';
import Mocha from 'mocha';
import { type FileResult, type Mark, markLine } from './ring-marks.ts';

const FAILURE_CHARACTERS = 300;

const mark = (each: Mark): void => {
  process.stdout.write(markLine(each));
};

/** Counts by file. Mocha runs files one after the other, so time belongs to the file whose tests or hooks came last. */
class Tally {
  readonly #names: ReadonlyMap<string, string>;
  readonly #results = new Map<string, FileResult>();
  #current: string | undefined;
  #since = performance.now();

  constructor(files: readonly string[]) {
    this.#names = new Map(files.map((file) => [resolve(file), file]));
  }

  load(path: string): void {
    mark({ kind: 'at', file: this.#nameOf(path) ?? path });
  }

  enter(path: string | undefined): void {
    const file = this.#nameOf(path);
    if (file === undefined || file === this.#current) return;
    this.leave();
    this.#current = file;
    mark({ kind: 'at', file });
  }

  leave(): void {
    const now = performance.now();
    if (this.#current !== undefined) this.#add(this.#current, { ms: now - this.#since });
    this.#since = now;
    this.#current = undefined;
  }

  /** `path`: of the test. A hook outside of all groups has none, and counts where the run stands. */
  count(path: string | undefined, what: 'passed' | 'failed' | 'skipped', failure?: string): void {
    const file = this.#nameOf(path) ?? this.#current ?? '';
    this.#add(file, { [what]: 1, failures: failure === undefined ? [] : [failure] });
    // a test that was over, and fails after all
    if (file !== this.#current) this.#tell(file);
  }

  get failed(): number {
    return [...this.#results.values()].reduce((sum, { failed }) => sum + failed, 0);
  }

  #nameOf(path: string | undefined): string | undefined {
    return path === undefined ? undefined : this.#names.get(resolve(path));
  }

  #add(file: string, more: Partial<FileResult>): void {
    const had = this.#results.get(file);
    this.#results.set(file, {
      file,
      passed: (had?.passed ?? 0) + (more.passed ?? 0),
      failed: (had?.failed ?? 0) + (more.failed ?? 0),
      skipped: (had?.skipped ?? 0) + (more.skipped ?? 0),
      ms: (had?.ms ?? 0) + (more.ms ?? 0),
      failures: [...(had?.failures ?? []), ...(more.failures ?? [])],
    });
    if (more.ms !== undefined) this.#tell(file);
  }

  #tell(file: string): void {
    const result = this.#results.get(file);
    if (result !== undefined) mark({ kind: 'file', result });
  }
}

async function runHere(timeoutMs: number, files: readonly string[]): Promise<number> {
  const mocha = new Mocha({ timeout: timeoutMs, forbidOnly: true, reporter: 'spec' });
  const tally = new Tally(files);
  for (const file of files) mocha.addFile(file);
  mocha.suite.on('pre-require', (_context, path) => tally.load(path));
  try {
    await mocha.loadFilesAsync();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    mark({ kind: 'trouble', sentence: oneLine(`could not be loaded: ${messageOf(error)}`) });
    return 1;
  }
  const runner = mocha.run(() => {
    tally.leave();
    mark({ kind: 'end' });
    // a socket or timer that a test forgot must not keep the run alive
    process.exit(tally.failed === 0 ? 0 : 1);
  });
  for (const event of ['suite', 'hook', 'test'] as const) {
    runner.on(event as 'suite', ({ file }) => tally.enter(file));
  }
  runner.on('pass', ({ file }) => tally.count(file, 'passed'));
  runner.on('pending', ({ file }) => tally.count(file, 'skipped'));
  runner.on('fail', (test, error) => {
    const failure = oneLine(`${test.fullTitle()}: ${messageOf(error)}`);
    tally.count(test.file, 'failed', failure);
  });
  return 0;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, FAILURE_CHARACTERS);
}

const [timeoutMs = '', ...files] = process.argv.slice(2);
const status = await runHere(Number(timeoutMs), files);
if (status !== 0) process.exit(status);
