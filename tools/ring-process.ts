/** Runs some files of a ring in a process of its own, and learns from its marks what came of each. */

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type FileResult, type Mark, readMark } from './ring-marks.ts';

export interface Task {
  readonly files: readonly string[];
  /** for one test that names no timeout of its own */
  readonly timeoutMs: number;
  /** wall clock for one file, and for all of them */
  readonly fileLimitMs: number;
  readonly limitMs: number;
}

export interface ProcessResult {
  readonly results: ReadonlyMap<string, FileResult>;
  /** what went wrong besides tests that failed, and in which file */
  readonly trouble?: { readonly file: string | undefined; readonly sentence: string };
  /** the whole run is to end */
  readonly isStopped: boolean;
}

const program = join(import.meta.dirname, 'ring-files.ts');

/** how long a process that was asked to end may take for that */
const GRACE_MS = 10_000;

/** `print` gets what the tests print, line by line. */
export async function runInProcess(
  { files, timeoutMs, fileLimitMs, limitMs }: Task,
  print: (line: string) => void,
): Promise<ProcessResult> {
  const child = spawn(
    process.execPath,
    ['--conditions=bgp-ts-source', '--expose-gc', program, String(timeoutMs), ...files],
    // a process group of its own, so that one signal reaches what the tests started
    { stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const seen: Seen = { results: new Map(), isComplete: false };
  const end = ending(child, limitMs);
  eachLine(child.stderr, print);
  eachMark(child.stdout, print, (mark) => {
    note(seen, mark);
    if (mark.kind === 'at') end.allow(fileLimitMs);
  });
  const { isStopped, ...how } = await end.ended;
  const { results } = seen;
  const sentence = troubleOf(seen, how);
  if (sentence === undefined) return { results, isStopped };
  // what the tests left running, for the files that come next
  endGroup(child, 'SIGKILL');
  const file = files.length === 1 ? files[0] : seen.current;
  return { results, isStopped, trouble: { file, sentence } };
}

interface Seen {
  readonly results: Map<string, FileResult>;
  current?: string | undefined;
  trouble?: string;
  isComplete: boolean;
}

function note(seen: Seen, mark: Mark): void {
  switch (mark.kind) {
    case 'at':
      seen.current = mark.file;
      return;
    case 'file':
      seen.results.set(mark.result.file, mark.result);
      return;
    case 'trouble':
      seen.trouble = mark.sentence;
      return;
    case 'end':
      seen.current = undefined;
      seen.isComplete = true;
      return;
  }
}

function eachMark(
  stream: Readable | null,
  print: (line: string) => void,
  onMark: (mark: Mark) => void,
): void {
  let half = '';
  eachLine(stream, (line) => {
    const marked = readMark(line);
    if (marked === undefined) {
      print(half + line);
      half = '';
    } else {
      half += marked.before;
      onMark(marked.mark);
    }
  });
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

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly isStopped: boolean;
  /** it had to be ended because of a limit */
  readonly late?: string;
}

interface Ending {
  /** the file that begins now has so much time */
  readonly allow: (ms: number) => void;
  /** resolves when the process is gone */
  readonly ended: Promise<End>;
}

/** A signal that stops us stops the process too. */
function ending(child: ChildProcess, limitMs: number): Ending {
  const timers = new Set<NodeJS.Timeout>();
  const later = (work: () => void, ms: number): NodeJS.Timeout => {
    const timer = setTimeout(work, ms);
    timers.add(timer);
    return timer;
  };
  let late: string | undefined;
  let stopSignal: NodeJS.Signals | undefined;
  let ofFile: NodeJS.Timeout | undefined;
  const finish = (signal: NodeJS.Signals) => {
    endGroup(child, signal);
    later(() => endGroup(child, 'SIGKILL'), GRACE_MS);
  };
  const stop = (signal: NodeJS.Signals) => {
    stopSignal = signal;
    finish(signal);
  };
  const onLimit = (sentence: string) => {
    late ??= sentence;
    finish('SIGTERM');
  };
  const minutes = (ms: number) => `${Math.round(ms / 600) / 100} minutes`;
  later(() => onLimit(`was not done when the suite had used its ${minutes(limitMs)}`), limitMs);
  const allow = (ms: number) => {
    clearTimeout(ofFile);
    ofFile = later(() => onLimit(`was not done within ${minutes(ms)}`), ms);
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const ended = new Promise<End>((resolve, reject) => {
    child.on('error', reject);
    // a program that a test left behind may hold our pipes open for ever
    child.on('exit', () => later(() => endGroup(child, 'SIGKILL'), GRACE_MS));
    child.on('close', (code, signal) => {
      for (const timer of timers) clearTimeout(timer);
      process.off('SIGINT', stop).off('SIGTERM', stop);
      if (stopSignal !== undefined) process.kill(process.pid, stopSignal);
      const isStopped = stopSignal !== undefined;
      resolve({ code, signal, isStopped, ...(late === undefined ? {} : { late }) });
    });
  });
  return { allow, ended };
}

function troubleOf(
  { trouble, isComplete, results }: Seen,
  { code, signal, late }: Omit<End, 'isStopped'>,
): string | undefined {
  if (late !== undefined) return late;
  if (trouble !== undefined) return trouble;
  const end = signal === null ? `ended with status ${code}` : `was ended by ${signal}`;
  if (!isComplete) return `${end} before its tests were done`;
  const isRed = [...results.values()].some(({ failed }) => failed > 0);
  return !isRed && code !== 0 ? `${end} although no test failed` : undefined;
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // ESRCH: no process of the group is left, which is the aim
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
