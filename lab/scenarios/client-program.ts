/** A program of tools/probe at the client, with a log of its own that others read while it runs. Nothing of it is left when it has ended. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** after that it is not asked any more, but ended */
const PATIENCE_MS = 30_000;
const programs = join(import.meta.dirname, '../../tools/probe');

export class ClientProgram {
  readonly #child: ChildProcess;
  readonly #folder: string;
  #failure: Error | undefined;

  /** `enter`: the command that goes before, into the client's namespace; the path of the log is its last argument */
  constructor(enter: readonly string[], name: string, args: readonly string[]) {
    this.#folder = mkdtempSync(join(tmpdir(), 'herald-probes-'));
    const call = [process.execPath, join(programs, name), ...args, this.#log];
    const [first = '', ...rest] = [...enter, ...call];
    this.#child = spawn(first, rest, { stdio: ['ignore', 'ignore', 'inherit'] });
    this.#child.on('error', (cause) => {
      this.#failure = new Error(`the client cannot run ${name}`, { cause });
    });
  }

  get #log(): string {
    return join(this.#folder, 'log');
  }

  /** What it has written so far. */
  read(): string {
    if (this.#failure !== undefined) throw this.#failure;
    return existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : '';
  }

  /** Asks it to come to an end, and has all that it wrote. */
  async finish(): Promise<string> {
    await this.#stop();
    const text = this.read();
    await this.end();
    return text;
  }

  /** As often as one likes. */
  async end(): Promise<void> {
    await this.#stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #stop(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const impatience = setTimeout(() => this.#child.kill('SIGKILL'), PATIENCE_MS);
    await ended;
    clearTimeout(impatience);
  }
}
