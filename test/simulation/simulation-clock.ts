/**
 * Time of a simulation. One clock for the whole world, that fires one timer at a time so that promises settle in between, as they do
 * in a real event loop; and a clock per process on top of it, which stands still while the process is frozen and is silent for
 * ever after it was killed. Monotonic time goes on during a freeze (as CLOCK_MONOTONIC does under SIGSTOP); the wall clock of a
 * machine can be stepped.
 */

import type { Clock, Timer } from 'bgp-ts';

interface Entry {
  readonly dueMs: number;
  readonly order: number;
  run: (() => void) | undefined;
}

const WALL_START_MS = Date.UTC(2026, 0, 1);

export class SimulationClock implements Clock {
  readonly #heap: Entry[] = [];
  #nowMs = 0;
  #started = 0;
  fired = 0;

  now(): number {
    return this.#nowMs;
  }

  wallTimeMs(): number {
    return WALL_START_MS + this.#nowMs;
  }

  startTimer(delayMs: number, callback: () => void): Timer {
    this.#started += 1;
    const entry: Entry = {
      dueMs: this.#nowMs + Math.max(0, delayMs),
      order: this.#started,
      run: callback,
    };
    this.#push(entry);
    return {
      cancel: () => {
        entry.run = undefined;
      },
    };
  }

  /** Fires what is due within the next `ms`, one by one; `between` lets promises settle. */
  async advance(ms: number, between: () => Promise<void>): Promise<void> {
    const targetMs = this.#nowMs + ms;
    for (;;) {
      const entry = this.#heap[0];
      if (entry === undefined || entry.dueMs > targetMs) break;
      this.#pop();
      const { run } = entry;
      if (run === undefined) continue;
      this.#nowMs = entry.dueMs;
      this.fired += 1;
      run();
      await between();
    }
    this.#nowMs = targetMs;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      const [left, right] = [heap[below], heap[below + 1]];
      if (left === undefined) break;
      let child = left;
      if (right !== undefined && isBefore(right, left)) {
        child = right;
        below += 1;
      }
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

export class ProcessClock implements Clock {
  readonly #world: Clock;
  readonly #wallOffsetMs: () => number;
  readonly #live = new Set<object>();
  #held: (() => void)[] = [];
  #state: 'running' | 'frozen' | 'dead' = 'running';

  constructor(world: Clock, wallOffsetMs: () => number) {
    this.#world = world;
    this.#wallOffsetMs = wallOffsetMs;
  }

  now(): number {
    return this.#world.now();
  }

  wallTimeMs(): number {
    return this.#world.wallTimeMs() + this.#wallOffsetMs();
  }

  startTimer(delayMs: number, callback: () => void): Timer {
    const ticket = {};
    const run = () => {
      if (this.#state === 'frozen') this.#held.push(run);
      else if (this.#state === 'running' && this.#live.delete(ticket)) callback();
    };
    this.#live.add(ticket);
    const timer = this.#world.startTimer(delayMs, run);
    return {
      cancel: () => {
        this.#live.delete(ticket);
        timer.cancel();
      },
    };
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  get pendingTimers(): number {
    return this.#live.size;
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    const held = this.#held;
    this.#held = [];
    for (const run of held) this.#world.startTimer(0, run);
  }

  kill(): void {
    this.#state = 'dead';
    this.#held = [];
    this.#live.clear();
  }
}
