/** Programs of the machine that the lab runs on: to their end (`run`), or in the background for as long as the lab lives (`start`). */

import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';

export interface Output {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  /** A status other than 0 is an answer, not an error. */
  readonly anyStatus?: boolean;
  readonly timeoutMs?: number;
  /** Takes the place of our own. */
  readonly environment?: Readonly<Record<string, string>>;
}

export function run(argv: readonly string[], options: RunOptions = {}): Promise<Output> {
  const [program = '', ...args] = argv;
  return new Promise((resolve, reject) => {
    // In a group of its own: Ctrl-C is for us to act upon, not for whatever runs at that moment.
    const child = spawn(program, args, {
      detached: true,
      env: { ...(options.environment ?? process.env) },
      timeout: options.timeoutMs ?? 30_000,
      killSignal: 'SIGKILL',
    });
    const stdout: Uint8Array[] = [];
    const stderr: Uint8Array[] = [];
    child.stdout.on('data', (chunk: Uint8Array) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Uint8Array) => stderr.push(chunk));
    child.on('error', (cause) => reject(new Error(`cannot run ${program}`, { cause })));
    child.on('close', (status, signal) => {
      const output = {
        status: status ?? -1,
        stdout: Buffer.concat(stdout).toString('utf8'),
        stderr: Buffer.concat(stderr).toString('utf8'),
      };
      if (output.status === 0 || (options.anyStatus === true && signal === null)) resolve(output);
      else {
        const how = signal === null ? `exit ${status}` : `signal ${signal}`;
        const said = output.stderr.trim() || output.stdout.trim();
        reject(new Error(`${argv.join(' ')}: ${how}: ${said}`));
      }
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });
}

/** Starts a program that outlives this one, in this environment and no other; its output goes to a file. The result is its process id. */
export function start(
  argv: readonly string[],
  logFile: string,
  environment: Readonly<Record<string, string>>,
): Promise<number> {
  const [program = '', ...args] = argv;
  const log = openSync(logFile, 'a');
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      detached: true,
      stdio: ['ignore', log, log],
      cwd: '/',
      env: { ...environment },
    });
    closeSync(log);
    child.on('error', (cause) => reject(new Error(`cannot run ${program}`, { cause })));
    child.on('spawn', () => {
      child.unref();
      resolve(child.pid ?? -1);
    });
  });
}
