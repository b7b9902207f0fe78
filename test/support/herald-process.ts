/** `herald` as a user runs it: a process with arguments, signals, two streams and an exit status. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const launcher = join(import.meta.dirname, '../../src/cli/herald');

export interface Exit {
  readonly status: number;
  readonly signal: NodeJS.Signals | null;
}

export class HeraldProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<Exit>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], input?: string) {
    this.#child = spawn(launcher, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    // decoded by the stream: a chunk may end in the middle of a character
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stdin?.end(input ?? '');
    this.#exit = new Promise((resolve) => {
      this.#child.on('close', (status, signal) => resolve({ status: status ?? -1, signal }));
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** how it ended, within a bound: a process that hangs is killed and told */
  async exit(timeoutMs = 45_000): Promise<Exit> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#child.kill('SIGKILL');
        reject(new Error(`still running after ${timeoutMs} ms; stderr: ${this.stderr}`));
      }, timeoutMs);
    });
    try {
      return await Promise.race([this.#exit, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** the lines of --json */
  get facts(): readonly Readonly<Record<string, unknown>>[] {
    return this.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }

  /** what `ps` shows, and what the process was given as environment */
  get visible(): string {
    const read = (file: string) => readFileSync(`/proc/${this.#child.pid}/${file}`, 'utf8');
    return `${read('cmdline')}\n${read('environ')}`;
  }
}
