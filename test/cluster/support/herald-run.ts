/**
 * A `herald` that stays, as a pod runs it: its arguments, a kubeconfig in place of the pod's own credentials, its log in a file. The program is dist/herald
 * when that is not older than the sources, else the sources as they are; HERALD_PROGRAM names another.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { heraldProgram } from '../../standalone/support/herald-program.ts';
import type { Host } from '../../support/netns.ts';
import { done, notYet, type PollOptions, until } from '../../support/poll.ts';
import { Running } from '../../support/process.ts';
import { cpuSeconds, residentMegabytes } from './daemon.ts';

export interface HeraldOptions {
  /** for the log's name and for failures, `agent-a` */
  readonly name: string;
  /** where the log goes; `cluster.folder` */
  readonly folder: string;
  /** in $KUBECONFIG */
  readonly kubeconfig: string;
  readonly env?: Readonly<Record<string, string>>;
  /** in this namespace; there it reaches the cluster only by what the test has built */
  readonly host?: Host;
  /** another release than the one under test: its `herald` */
  readonly program?: string;
}

let runs = 0;

export function startHerald(args: readonly string[], options: HeraldOptions): HeraldRun {
  runs += 1;
  return new HeraldRun(args, options, join(options.folder, `${options.name}-${runs}.log`));
}

/** A line of the log: the fields of pino. */
export type LogLine = Readonly<Record<string, unknown>>;

export class HeraldRun {
  readonly name: string;
  readonly startedAtMs = performance.now();
  readonly #running: Running;
  readonly #logFile: string;

  constructor(args: readonly string[], options: HeraldOptions, logFile: string) {
    const own = ['setpriv', '--pdeathsig', 'KILL', options.program ?? heraldProgram(), ...args];
    const [command = '', ...rest] = own;
    this.name = options.name;
    this.#logFile = logFile;
    this.#running = new Running(options.host?.argv(command, rest) ?? own, logFile, {
      env: { KUBECONFIG: options.kubeconfig, ...options.env },
    });
  }

  get pid(): number {
    return this.#running.pid;
  }

  get isRunning(): boolean {
    return this.#running.isRunning;
  }

  /** Its exit status, -1 when a signal ended it. */
  get ended(): Promise<number> {
    return this.#running.ended;
  }

  /** SIGTERM, and SIGKILL when it is not gone within the bound; its exit status. */
  stop(graceMs = 40_000): Promise<number> {
    return this.#running.stop(graceMs);
  }

  /** The planned end without a goodbye, or whatever else a test wants to send. */
  signal(signal: NodeJS.Signals): void {
    this.#running.signal(signal);
  }

  kill(): Promise<void> {
    return this.#running.kill();
  }

  freeze(): void {
    this.#running.freeze();
  }

  thaw(): void {
    this.#running.thaw();
  }

  residentMegabytes(): number {
    return residentMegabytes(this.pid);
  }

  cpuSeconds(): number {
    return cpuSeconds(this.pid);
  }

  /** All that it has written to both streams. */
  log(): string {
    return readFileSync(this.#logFile, 'utf8');
  }

  /** Those lines that are JSON; the last one may be half written and is then left out. */
  lines(): LogLine[] {
    return this.log()
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [parseLine(line)] : []))
      .filter((line) => line !== undefined);
  }

  /** Waits for a line; a program that ends meanwhile is told with its last words. */
  async logged(
    what: string,
    accept: (line: LogLine) => boolean,
    options: PollOptions = {},
  ): Promise<LogLine> {
    const found = await until<LogLine | undefined>(
      `${this.name} logs ${what}`,
      () => {
        const line = this.lines().find(accept);
        if (line !== undefined) return done(line);
        return this.isRunning ? notYet(this.log().slice(-500)) : done(undefined);
      },
      options,
    );
    if (found === undefined) {
      throw new Error(`${this.name} ended before it logged ${what}: ${this.log().slice(-2_000)}`);
    }
    return found;
  }
}

function parseLine(text: string): LogLine | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
