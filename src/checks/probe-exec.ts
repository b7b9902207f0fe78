/**
 * Does a command end with status 0? No stdin, nothing that a shell would make of its arguments, and a process group of its own, which is killed as a whole when the time is
 * over and when the command has ended: a check that runs every second must not leave processes behind.
 *
 * The end of the command counts, not the end of its output: a grandchild may hold the pipe for ever.
 *
 * Whoever starts a process waits in the kernel until its file has been found and opened, for ever where that file is on a network file
 * system that does not answer; here that would be the main thread, and the sessions. So what is started is /bin/sh, which replaces itself
 * by the command at once and passes its arguments on as they are: what hangs is a process of its own, and the time limit ends it. Where
 * there is no /bin/sh (the image) the command is started directly.
 */

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
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
const SHELL = '/bin/sh';
/** how the shell names itself where it cannot become the command */
const SHELL_NAME = 'herald-check';
/** POSIX: of a shell that has not found the command, or may not run it */
const NOT_FOUND = 127;
const NOT_RUN = 126;
let hasShell: boolean | undefined;

export function probeExec(target: TargetOf<'exec'>, ask: Ask): void {
  const name = formatTarget(target);
  runBounded(ask, (finish) => {
    try {
      return run(target.command, name, finish);
    } catch (error) {
      finish(cannotStart(name, describeFileError(fileTrouble(error))));
      return { release: () => {}, late: () => name };
    }
  });
}

function cannotStart(name: string, reason: string): Answer {
  return fail(`${name} cannot be started: ${reason}`);
}

function run(
  [file = '', ...args]: readonly string[],
  name: string,
  finish: (answer: Answer) => void,
): Attempt {
  const options: SpawnOptions = { detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
  hasShell ??= existsSync(SHELL);
  const child = hasShell
    ? spawn(SHELL, ['-c', 'exec "$@"', SHELL_NAME, file, ...args], options)
    : spawn(file, args, options);
  const output = collectOutput(child);
  let lastWords: NodeJS.Timeout | undefined;
  child.on('error', (error) => finish(cannotStart(name, describeFileError(fileTrouble(error)))));
  child.on('exit', (status, signal) => {
    killGroup(child);
    if (status === 0) return finish(pass(`${name} ended with status 0`));
    const how = signal === null ? `ended with status ${status}` : `was ended by ${signal}`;
    const tell = () => {
      const said = firstLine(output());
      const refused = hasShell === true && said.startsWith(`${SHELL_NAME}: `);
      if (refused && status === NOT_FOUND) return finish(cannotStart(name, 'no such file'));
      if (refused && status === NOT_RUN) return finish(cannotStart(name, 'permission denied'));
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
