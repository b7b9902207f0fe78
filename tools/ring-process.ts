/** Runs a ring, or some files of it, in a process of its own, and hears from it what came of it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

export interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** a count, and a line for each test that failed */
export interface Outcome extends Count {
  readonly failures: readonly string[];
  /** somebody wants all of it to end */
  readonly isStopped?: boolean;
}

export const NOTHING: Count = { passed: 0, failed: 0, skipped: 0 };
export const RESULT_MARK = 'ring-result ';
export const FAILURE_MARK = 'ring-failure ';

const runner = join(import.meta.dirname, 'ring-files.ts');

/** how long a ring that was told to end may take over it */
const GRACE_MS = 10_000;

/** `print` gets what it prints, line by line; its count is its last line. */
export async function runInProcess(
  { ring, files, limitMinutes }: Task,
  print: (line: string) => void,
): Promise<Outcome> {
  const child = spawn(
    process.execPath,
    ['--conditions=bgp-ts-source', '--expose-gc', runner, ring, ...files],
    // a process group of its own, so that one signal reaches what the tests started
    { stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const said = passOn(child, print);
  const end = await finished(child, limitMinutes * 60_000);
  const trouble = troubleOf(said.count, end);
  const who = files.length === 1 ? files[0] : `ring ${ring}`;
  if (trouble !== undefined) print(`${who}: FAILED, it ${trouble}`);
  const { passed, failed: counted, skipped } = said.count ?? NOTHING;
  const failed = counted + (trouble === undefined ? 0 : 1);
  const failures =
    trouble === undefined ? said.failures : [...said.failures, `${who}: it ${trouble}`];
  return { passed, failed, skipped, failures, isStopped: end.isStopped };
}

export interface Task {
  readonly ring: string;
  readonly files: readonly string[];
  readonly limitMinutes: number;
}

interface Said {
  count: Count | undefined;
  readonly failures: string[];
}

/** Its count and the names of what failed are kept, the rest is passed on. */
function passOn(child: ChildProcess, print: (line: string) => void): Said {
  const said: Said = { count: undefined, failures: [] };
  eachLine(child.stderr, print);
  eachLine(child.stdout, (line) => {
    if (line.startsWith(RESULT_MARK)) said.count = readCount(line.slice(RESULT_MARK.length));
    else if (line.startsWith(FAILURE_MARK)) said.failures.push(line.slice(FAILURE_MARK.length));
    else print(line);
  });
  return said;
}

function eachLine(stream: Readable | null, print: (line: string) => void): void {
  let pending = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (text: string) => {
    const lines = (pending + text).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) print(line);
  });
  stream?.on('end', () => {
    if (pending !== '') print(pending);
  });
}

function readCount(text: string): Count {
  const [passed = 0, failed = 0, skipped = 0] = text.split(' ').map(Number);
  return { passed, failed, skipped };
}

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isStopped: boolean;
  /** it had to be ended because of the limit, in minutes */
  readonly lateAfter?: number;
}

/** Resolves when the process is gone. Who stops us stops it. */
function finished(child: ChildProcess, limitMs: number): Promise<End> {
  const timers: NodeJS.Timeout[] = [];
  let isLate = false;
  let stopSignal: NodeJS.Signals | undefined;
  const stop = (signal: NodeJS.Signals) => {
    stopSignal = signal;
    endGroup(child, signal);
    timers.push(setTimeout(() => endGroup(child, 'SIGKILL'), GRACE_MS));
  };
  const onLimit = () => {
    isLate = true;
    endGroup(child, 'SIGTERM');
    timers.push(setTimeout(() => endGroup(child, 'SIGKILL'), GRACE_MS));
  };
  timers.push(setTimeout(onLimit, limitMs));
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      for (const timer of timers) clearTimeout(timer);
      process.off('SIGINT', stop).off('SIGTERM', stop);
      // what a ring left behind that did not end by itself
      if (isLate) endGroup(child, 'SIGKILL');
      if (stopSignal !== undefined) process.kill(process.pid, stopSignal);
      const isStopped = stopSignal !== undefined;
      resolve({ code, signal, isStopped, ...(isLate ? { lateAfter: limitMs / 60_000 } : {}) });
    });
  });
}

/** What is wrong with a ring besides its tests. */
function troubleOf(count: Count | undefined, { code, signal, lateAfter }: End): string | undefined {
  if (lateAfter !== undefined) return `was not done within ${lateAfter} minutes`;
  const end = signal === null ? `ended with status ${code}` : `was ended by ${signal}`;
  if (count === undefined) return `${end} before it had counted its tests`;
  return count.failed === 0 && code !== 0 ? `${end} although no test failed` : undefined;
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // ESRCH: nobody is left, which is what was wanted
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
