/** The client outside of the cluster: it knows nothing but an address. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { analyse, type Outage, type Probe, parseProbes } from '../../tools/probe/probe-log.ts';
import { eventually } from './poll.ts';

export interface ProbeWish {
  readonly address: string;
  readonly port?: number;
  readonly everyMs: number;
  /** no client sends for longer */
  readonly seconds: number;
}

const program = join(import.meta.dirname, '../../tools/probe/probe-main.ts');

/** Opens a connection every few milliseconds, one request each, until it is told to stop. */
export class Probing {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #everyMs: number;
  readonly #sinceMs = nowMs();

  private constructor(child: ChildProcess, folder: string, everyMs: number) {
    this.#child = child;
    this.#folder = folder;
    this.#everyMs = everyMs;
  }

  /** `enter`: the command that goes before, into the client's namespace */
  static async start(enter: readonly string[], wish: ProbeWish): Promise<Probing> {
    const folder = mkdtempSync(join(tmpdir(), 'herald-probes-'));
    const count = Math.ceil((wish.seconds * 1000) / wish.everyMs);
    const numbers = [wish.port ?? 80, wish.everyMs, count].map(String);
    const call = [
      process.execPath,
      program,
      'plain',
      wish.address,
      ...numbers,
      join(folder, 'log'),
    ];
    const [first = '', ...rest] = [...enter, ...call];
    const child = spawn(first, rest, { stdio: ['ignore', 'ignore', 'inherit'] });
    const probing = new Probing(child, folder, wish.everyMs);
    await eventually(
      `the client probes ${wish.address}`,
      async () => probing.read().length,
      (found) => (found > 0 ? undefined : 'no probe has an outcome yet'),
    );
    return probing;
  }

  read(): readonly Probe[] {
    const log = join(this.#folder, 'log');
    return existsSync(log) ? parseProbes(readFileSync(log, 'utf8')) : [];
  }

  /** Ends it; the verdict about everything since `fromMs` (of CLOCK_MONOTONIC), or since it began. */
  async stop(fromMs = this.#sinceMs): Promise<Outage> {
    const untilMs = nowMs();
    await this.end();
    const outage = analyse(this.read(), fromMs, untilMs, this.#everyMs);
    rmSync(this.#folder, { recursive: true, force: true });
    return outage;
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}
