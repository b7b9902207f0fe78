/** The client outside of the cluster: it knows nothing but an address. Whoever begins something ends it, even when it never got under way. */

import { type Held, parseHeld } from '../../tools/probe/hold-log.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { analyse, type Outage, type Probe, parseProbes } from '../../tools/probe/probe-log.ts';
import { ClientProgram } from './client-program.ts';
import { eventually } from './poll.ts';

export interface ProbeWish {
  readonly address: string;
  readonly port?: number;
  readonly everyMs: number;
  /** no client sends for longer */
  readonly seconds: number;
}

/** Opens a connection every few milliseconds, one request each, until it is told to stop. */
export class Probing {
  readonly #program: ClientProgram;
  readonly #wish: ProbeWish;
  #sinceMs = nowMs();

  constructor(enter: readonly string[], wish: ProbeWish) {
    const { address, port = 80, everyMs, seconds } = wish;
    const count = Math.ceil((seconds * 1000) / everyMs);
    const numbers = [port, everyMs, count].map(String);
    this.#program = new ClientProgram(enter, 'probe-main.ts', ['plain', address, ...numbers]);
    this.#wish = wish;
  }

  async isUnderWay(): Promise<void> {
    const [first] = await eventually(
      `the client probes ${this.#wish.address}`,
      async () => this.read(),
      (found) => (found.length > 0 ? undefined : 'no probe has an outcome yet'),
    );
    // the time that the program took to start is no gap between answers
    this.#sinceMs = first?.sentMs ?? this.#sinceMs;
  }

  read(): readonly Probe[] {
    return parseProbes(this.#program.read());
  }

  /** Ends it; everything that it has seen. */
  async finish(): Promise<readonly Probe[]> {
    return parseProbes(await this.#program.finish());
  }

  /** Ends it; the verdict about everything since `fromMs` (of CLOCK_MONOTONIC), or since it began. */
  async stop(fromMs = this.#sinceMs): Promise<Outage> {
    const untilMs = nowMs();
    return analyse(await this.finish(), fromMs, untilMs, this.#wish.everyMs);
  }

  async end(): Promise<void> {
    await this.#program.end();
  }
}

export interface HoldWish {
  readonly address: string;
  readonly port?: number;
  readonly connections: number;
  /** between an answer and the next question on the same connection */
  readonly everyMs: number;
}

/** Keeps connections open and in use, and counts those that are cut. */
export class Holding {
  readonly #program: ClientProgram;
  readonly #wish: HoldWish;

  constructor(enter: readonly string[], wish: HoldWish) {
    const { address, port = 80, connections, everyMs } = wish;
    const numbers = [port, connections, everyMs].map(String);
    this.#program = new ClientProgram(enter, 'hold-main.ts', [address, ...numbers]);
    this.#wish = wish;
  }

  async isUnderWay(): Promise<void> {
    const { connections } = this.#wish;
    await eventually(
      `the client holds ${connections} connections`,
      async () => this.read()?.open,
      (open) => (open === connections ? undefined : `${open ?? 'not all are tried, 0'} are open`),
    );
  }

  /** Undefined while they are still being opened. */
  read(): Held | undefined {
    return parseHeld(this.#program.read());
  }

  /** Ends it. */
  async stop(): Promise<Held> {
    const held = parseHeld(await this.#program.finish());
    if (held === undefined) throw new Error('the client held no connection');
    return held;
  }

  async end(): Promise<void> {
    await this.#program.end();
  }
}
