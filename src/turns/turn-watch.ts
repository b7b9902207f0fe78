/**
 * Measures turns of the main thread: how long it was busy without looking at a timer. Keepalives, Leases and elections are timers, so a turn
 * of seconds costs a session, and one of 200 ms is a defect that should be known before it grows.
 *
 * A timer each 50 ms costs next to nothing and is late by the turn that held it up. Time in which the main thread had nothing to do does not
 * count, so a process that was frozen while it waited is not blamed. A turn is known to within those 50 ms. One line a minute at most.
 */

import type { Log } from '../log/log.ts';
import { takeSpent, type Work } from './work-labels.ts';

/** What a watch needs of its process. All milliseconds. */
export interface TurnWorld {
  /** monotonic */
  readonly now: () => number;
  /** in which the main thread had nothing to do, since its start */
  readonly idleMs: () => number;
  /** that the main thread has had of a CPU: much less than a turn took means that the machine was busy */
  readonly cpuMs: () => number;
  /** the answer ends it; does not keep the process alive */
  readonly every: (periodMs: number, work: () => void) => () => void;
}

/** What metrics read. */
export interface TurnFacts {
  /** of the last one to two minutes; seconds */
  readonly longestSeconds: () => number;
  /** turns over 200 ms since the start, by what took most of the time */
  readonly long: ReadonlyMap<Work, number>;
}

export const LONG_TURN_MS = 200;
const PERIOD_MS = 50;
const WINDOW_MS = 60_000;
const LOG_EVERY_MS = 60_000;

interface Turn {
  readonly ms: number;
  readonly cpuMs: number;
  readonly work: Work;
  /** for people */
  readonly pieces: string;
}

export class TurnWatch implements TurnFacts {
  readonly #world: TurnWorld;
  readonly #log: Log;
  readonly long = new Map<Work, number>();
  #end: () => void = () => undefined;
  #lastMs = 0;
  #lastIdleMs = 0;
  #lastCpuMs = 0;
  /** longest of this window and of the one before */
  #longestMs: readonly [number, number] = [0, 0];
  #windowEndMs = 0;
  #worst: Turn | undefined;
  #untold = 0;
  #nextLineMs = Number.NEGATIVE_INFINITY;

  constructor(world: TurnWorld, log: Log) {
    this.#world = world;
    this.#log = log;
  }

  readonly longestSeconds = (): number => Math.max(...this.#longestMs) / 1000;

  start(): void {
    this.#remember(this.#world.now());
    this.#windowEndMs = this.#lastMs + WINDOW_MS;
    takeSpent();
    this.#end = this.#world.every(PERIOD_MS, () => this.#look());
  }

  stop(): void {
    this.#end();
  }

  #remember(nowMs: number): void {
    this.#lastMs = nowMs;
    this.#lastIdleMs = this.#world.idleMs();
    this.#lastCpuMs = this.#world.cpuMs();
  }

  #look(): void {
    const nowMs = this.#world.now();
    const elapsedMs = nowMs - this.#lastMs;
    const lateMs = elapsedMs - PERIOD_MS;
    // not all of it is one turn where others came before; those are at most as long as the period
    const busyMs = elapsedMs - (this.#world.idleMs() - this.#lastIdleMs);
    const cpuMs = this.#world.cpuMs() - this.#lastCpuMs;
    this.#remember(nowMs);
    const spent = takeSpent();
    this.#moveWindow(nowMs);
    if (lateMs > 1) this.#longestMs = [Math.max(this.#longestMs[0], busyMs), this.#longestMs[1]];
    if (busyMs >= LONG_TURN_MS && lateMs >= LONG_TURN_MS - PERIOD_MS) {
      this.#count({ ms: busyMs, cpuMs, ...namesOf(spent, busyMs) });
    }
    this.#tell(nowMs);
  }

  #moveWindow(nowMs: number): void {
    if (nowMs < this.#windowEndMs) return;
    this.#longestMs = [0, this.#longestMs[0]];
    this.#windowEndMs = nowMs + WINDOW_MS;
  }

  #count(turn: Turn): void {
    this.long.set(turn.work, (this.long.get(turn.work) ?? 0) + 1);
    this.#untold += 1;
    if (this.#worst === undefined || turn.ms > this.#worst.ms) this.#worst = turn;
  }

  #tell(nowMs: number): void {
    if (this.#worst === undefined || nowMs < this.#nextLineMs) return;
    const { ms, cpuMs, work, pieces } = this.#worst;
    const fields = { ms: Math.round(ms), cpuMs: Math.round(cpuMs), work, pieces };
    const message = 'the main thread was busy without a pause; timers and sessions waited';
    this.#log.warn('process.turn', { ...fields, turns: this.#untold }, message);
    this.#worst = undefined;
    this.#untold = 0;
    this.#nextLineMs = nowMs + LOG_EVERY_MS;
  }
}

/** what has no name and took more than half of the turn is `other` */
function namesOf(
  spent: readonly (readonly [Work, number])[],
  ms: number,
): Pick<Turn, 'work' | 'pieces'> {
  const named = spent.reduce((sum, [, each]) => sum + each, 0);
  const [longest] = spent;
  const work = longest === undefined || named < ms / 2 ? 'other' : longest[0];
  const worth = spent.filter(([, each]) => each >= 1).slice(0, 4);
  return { work, pieces: worth.map(([what, each]) => `${what} ${Math.round(each)} ms`).join(', ') };
}
