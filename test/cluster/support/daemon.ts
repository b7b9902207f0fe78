/**
 * One server program of a test cluster (etcd, kube-apiserver): started, stopped, frozen, asked for its CPU time and memory. It dies with
 * the process that started it, even when that one is killed (setpriv --pdeathsig), unless it is meant to outlive it.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { statFields } from '../../../tools/proc-stat.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { Running } from '../../support/process.ts';

export interface DaemonOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly isReady: () => Promise<boolean>;
  /** it goes on when this process ends, for `make cluster` */
  readonly outlives?: boolean;
}

const TICKS_PER_SECOND = 100;
const READY_TIMEOUT_MS = 120_000;
const SHOWN = 3_000;

export class Daemon {
  readonly #options: DaemonOptions;
  #running: Running | undefined;

  constructor(options: DaemonOptions) {
    this.#options = options;
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    this.launch();
    await this.ready();
  }

  /** Starts it and does not wait. */
  launch(): void {
    if (this.isRunning) throw new Error(`${this.#options.name} runs already`);
    const { name, command, args, folder, outlives } = this.#options;
    const bound = outlives === true ? [] : ['setpriv', '--pdeathsig', 'KILL'];
    this.#running = new Running([...bound, command, ...args], join(folder, `${name}.log`));
    if (outlives === true) this.#running.release();
  }

  async ready(): Promise<void> {
    const { name, isReady } = this.#options;
    let ended = '';
    const probe = async () => {
      if (!this.isRunning) {
        ended = `${name} ended: ${this.log()}`;
        return done(false);
      }
      return (await isReady()) ? done(true) : notYet('not ready');
    };
    await until(`${name} is ready`, probe, { everyMs: 30, timeoutMs: READY_TIMEOUT_MS });
    if (ended !== '') throw new Error(ended);
  }

  /** As an operator stops it; killed after two seconds. */
  async stop(): Promise<void> {
    await this.#running?.stop(2_000);
  }

  async kill(): Promise<void> {
    await this.#running?.kill();
  }

  /** For the end of the process, where nothing can be awaited. */
  killNow(): void {
    this.#running?.signal('SIGKILL');
  }

  freeze(): void {
    this.#running?.freeze();
  }

  thaw(): void {
    this.#running?.thaw();
  }

  get isRunning(): boolean {
    return this.#running?.isRunning === true;
  }

  get pid(): number {
    return this.#running?.pid ?? -1;
  }

  /** user and system time of the process that runs now */
  cpuSeconds(): number {
    return cpuSeconds(this.pid);
  }

  residentMegabytes(): number {
    return residentMegabytes(this.pid);
  }

  log(): string {
    return this.#running?.log().slice(-SHOWN) ?? '';
  }
}

export function cpuSeconds(pid: number): number {
  const fields = statFields(`/proc/${pid}/stat`);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
