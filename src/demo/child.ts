/** One process of the demo: this very program with other arguments, in a process group of its own, its words in a file. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Guard } from './guard.ts';

/** How to run this very program. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

const TAIL_LINES = 8;

export class Child {
  readonly #process: ChildProcess;
  readonly #logFile: string;
  #isAsked = false;

  constructor(program: Program, args: readonly string[], logFile: string, guard: Guard) {
    this.#logFile = logFile;
    const log = openSync(logFile, 'a', 0o600);
    const child = spawn(program.command, [...program.args, ...args], {
      detached: true,
      stdio: ['ignore', log, log],
      env: withoutSettings(program.env),
      cwd: '/',
    });
    closeSync(log);
    this.#process = child;
    const { pid } = child;
    // one that could not be started is one that does not run
    child.on('error', () => undefined);
    if (pid !== undefined) {
      guard.watch(pid);
      child.on('exit', () => guard.forget(pid));
    }
  }

  get isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.#process;
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  log(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  /** the last lines that it wrote */
  tail(): string {
    return this.log().trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.#process.kill(signal);
  }

  /** `isAsked`: we ended it */
  onExit(handler: (isAsked: boolean) => void): void {
    this.#process.once('exit', () => handler(this.#isAsked));
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return;
    this.#isAsked = true;
    const gone = once(this.#process, 'exit');
    this.#process.kill(signal);
    await gone;
  }
}

/** What the user has set for an agent of their own is not for ours. */
function withoutSettings(env: Program['env']): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('HERALD_')));
}
