/**
 * Child processes of a test: one that runs to its end (`run`) and one that stays (`Running`), the latter in a
 * process group of its own so that a daemon with helpers (OpenBGPD has three processes) is frozen and killed
 * as a whole. Nothing here knows about namespaces; netns.ts puts `ip netns exec` in front.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { waitUntilStopped } from './process-group.ts';

export type Output = { readonly stdout: string; readonly stderr: string; readonly status: number };

export type RunOptions = {
  readonly input?: string;
  readonly timeoutMs?: number;
  /** A status other than 0 is an answer, not an error. */
  readonly anyStatus?: boolean;
  readonly env?: Readonly<Record<string, string>>;
};

/** Against programs that hang; one that merely waits for a processor takes less. */
const defaultTimeoutMs = 60_000;

/** Runs a program to its end; a status other than 0 throws with its stderr unless `anyStatus`. */
export function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Output> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...options.env },
      timeout: options.timeoutMs ?? defaultTimeoutMs,
      killSignal: 'SIGKILL',
    });
    const stdout: Uint8Array[] = [];
    const stderr: Uint8Array[] = [];
    child.stdout.on('data', (chunk: Uint8Array) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Uint8Array) => stderr.push(chunk));
    child.on('error', (cause) => reject(new Error(`cannot run ${command}`, { cause })));
    child.on('close', (status, signal) => {
      const output = {
        stdout: Buffer.concat(stdout).toString('utf8'),
        stderr: Buffer.concat(stderr).toString('utf8'),
        status: status ?? -1,
      };
      if (output.status === 0 || (options.anyStatus === true && signal === null)) resolve(output);
      else {
        const how = signal === null ? `exit ${status}` : `signal ${signal}`;
        const said = output.stderr.trim() || output.stdout.trim();
        reject(new Error(`${command} ${args.join(' ')}: ${how}: ${said}`));
      }
    });
    // A program that ends without reading its input is judged by its status, not by our broken pipe.
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}

export type SpawnOptions = {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
};

/** A long-running child whose stdout and stderr go to one log file. */
export class Running {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number>;
  readonly #logFile: string;
  #isBuried = false;

  constructor(argv: readonly string[], logFile: string, options: SpawnOptions = {}) {
    const [command, ...args] = argv;
    if (command === undefined) throw new Error('an empty command line');
    const log = openSync(logFile, 'a');
    this.#logFile = logFile;
    this.#child = spawn(command, args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...process.env, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    closeSync(log);
    this.#ended = new Promise((resolve) => {
      this.#child.on('exit', (status) => resolve(status ?? -1));
      this.#child.on('error', () => resolve(-1));
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null && this.pid > 0;
  }

  /** Resolves with the exit status, -1 when a signal ended it. */
  get ended(): Promise<number> {
    return this.#ended;
  }

  log(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  /** No longer keeps the event loop alive. */
  release(): void {
    this.#child.unref();
  }

  /** To the whole process group; a group that is gone is no error. One that was killed gets no more: its number may be another's by then. */
  signal(signal: NodeJS.Signals): void {
    if (this.pid <= 0 || this.#isBuried) return;
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }

  /** SIGSTOP, and back when nothing of it runs any more: the kernel stops the threads one by one, on a busy machine not at once. */
  freeze(): void {
    this.signal('SIGSTOP');
    if (this.isRunning) waitUntilStopped(this.pid);
  }

  thaw(): void {
    this.signal('SIGCONT');
  }

  /** Asks the leader to end (SIGTERM), and kills the group when it has not within the bound. */
  async stop(graceMs = 20_000): Promise<number> {
    this.thaw();
    if (this.isRunning) this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), graceMs);
    const status = await this.#ended;
    clearTimeout(timer);
    this.#bury();
    return status;
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.#ended;
    this.#bury();
  }

  /** Its children may have outlived it, and have as long as the group has its number. */
  #bury(): void {
    this.signal('SIGKILL');
    this.#isBuried = true;
  }
}
