/**
 * Does a command end with status 0? No shell, no stdin, and a process group of its own, which is killed as a whole when the time is
 * over and when the command has ended: a check that runs every second must not leave processes behind.
 *
 * The end of the command counts, not the end of its output: a grandchild may hold the pipe for ever.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { formatTarget } from './parse-target.ts';
import {
  type Ask,
  type Attempt,
  fail,
  firstLine,
  pass,
  runBounded,
  type TargetOf,
} from './probe-bounds.ts';
import { describeFileError, fileTrouble } from './probe-failure.ts';
import type { Answer } from './verdict.ts';

const KEEP_OUTPUT = 2048;
/** how long the last words of a command that has failed may take */
const LAST_WORDS_MS = 50;

export function probeExec(target: TargetOf<'exec'>, ask: Ask): void {
  const name = formatTarget(target);
  runBounded(ask, (finish) => {
    try {
      return run(target.command, name, finish);
    } catch (error) {
      finish(cannotStart(name, error));
      return { release: () => {}, late: () => name };
    }
  });
}

function cannotStart(name: string, error: unknown): Answer {
  return fail(`${name} cannot be started: ${describeFileError(fileTrouble(error))}`);
}

function run(
  [file = '', ...args]: readonly string[],
  name: string,
  finish: (answer: Answer) => void,
): Attempt {
  const child = spawn(file, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = collectOutput(child);
  let lastWords: NodeJS.Timeout | undefined;
  child.on('error', (error) => finish(cannotStart(name, error)));
  child.on('exit', (status, signal) => {
    killGroup(child);
    if (status === 0) return finish(pass(`${name} ended with status 0`));
    const how = signal === null ? `ended with status ${status}` : `was ended by ${signal}`;
    const tell = () => {
      const said = firstLine(output());
      finish(fail(said === '' ? `${name} ${how}` : `${name} ${how}: ${said}`));
    };
    child.on('close', tell);
    lastWords = setTimeout(tell, LAST_WORDS_MS);
  });
  return {
    release: () => {
      clearTimeout(lastWords);
      killGroup(child);
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
    late: () => `${name} did not end`,
  };
}

/** Keeps the beginning and goes on reading, so that a talkative command does not block. Complaints come first. */
function collectOutput(child: ChildProcess): () => string {
  const heads = [child.stderr, child.stdout].map((stream) => {
    const head = { text: '' };
    stream?.setEncoding('utf8');
    stream?.on('error', () => {});
    stream?.on('data', (chunk: string) => {
      if (head.text.length < KEEP_OUTPUT) head.text += chunk.slice(0, KEEP_OUTPUT);
    });
    return head;
  });
  return () => heads.map(({ text }) => text).join('\n');
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // nobody is left in the group
  }
}
