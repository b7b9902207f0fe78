/**
 * What the kernel is asked for in one turn of the clock, and for whom: several queues of prefixes, in order, of which each has its
 * share of a turn. Nobody waits for the end of another queue, however much comes to that without a pause; what one does not need of
 * its share is for the others. Knows nothing of routes: a step costs what `spend` is told, or the time that it took.
 */

import type { Clock, PrefixKey } from 'bgp-ts';

/** in next hops: what the kernel is asked for in one turn; the rest waits for the next one */
const TURN_HOPS = 2000;
/** calls may be slow, however few: others hold the kernel's lock, or a route of theirs is looked for in a long table */
const TURN_MS = 20;
const HOPS_PER_MS = TURN_HOPS / TURN_MS;

/** First come, first served: who comes again while it waits keeps its place. */
export class Queue {
  readonly keys = new Set<PrefixKey>();
  /** of a turn, while others wait; those of all queues make one */
  readonly share: number;
  /** what is left of it; less than nothing is taken from the next turn's */
  credit: number;

  constructor(share: number) {
    this.share = share;
    this.credit = share * TURN_HOPS;
  }
}

export class SharedTurn {
  readonly #clock: Clock;
  readonly #queues: readonly Queue[];
  #hopsLeft = TURN_HOPS;
  /** undefined while nothing has been done in this turn */
  #endMs: number | undefined;

  constructor(clock: Clock, queues: readonly Queue[]) {
    this.#clock = clock;
    this.#queues = queues;
  }

  /** The next turn. */
  begin(): void {
    this.#hopsLeft = TURN_HOPS;
    this.#endMs = undefined;
    for (const queue of this.#queues) {
      queue.credit = Math.min(queue.credit, 0) + queue.share * TURN_HOPS;
    }
  }

  get isBegun(): boolean {
    return this.#endMs !== undefined;
  }

  get isIdle(): boolean {
    return this.#queues.every(({ keys }) => keys.size === 0);
  }

  isWaiting(key: PrefixKey): boolean {
    return this.#queues.some(({ keys }) => keys.has(key));
  }

  /** It waits in this queue alone; without one in none. */
  move(key: PrefixKey, to?: Queue): void {
    for (const { keys } of this.#queues) if (keys !== to?.keys) keys.delete(key);
    to?.keys.add(key);
  }

  clear(): void {
    for (const { keys } of this.#queues) keys.clear();
  }

  /** of the step that is being made */
  spend(hops: number): void {
    this.#hopsLeft -= hops;
  }

  /** Steps for those that wait, as many as fit into what is left of this turn. A step takes its key out where it was the last one. */
  work(step: (key: PrefixKey, queue: Queue) => void): void {
    for (const isShare of [true, false]) {
      for (const queue of this.#queues) this.#serve(queue, isShare, step);
    }
  }

  #serve(queue: Queue, isShare: boolean, step: (key: PrefixKey, queue: Queue) => void): void {
    for (const key of queue.keys) {
      while (queue.keys.has(key)) {
        if ((isShare && queue.credit <= 0) || !this.#hasTime()) return;
        const cost = this.#costOf(() => step(key, queue));
        if (isShare) queue.credit -= cost;
      }
    }
  }

  #hasTime(): boolean {
    const nowMs = this.#clock.now();
    this.#endMs ??= nowMs + TURN_MS;
    return this.#hopsLeft > 0 && nowMs < this.#endMs;
  }

  /** At most a turn: one call that the kernel's lock holds up for a second costs its queue no fifty turns. */
  #costOf(work: () => void): number {
    const before = this.#hopsLeft;
    const startMs = this.#clock.now();
    work();
    const byTime = (this.#clock.now() - startMs) * HOPS_PER_MS;
    return Math.min(Math.max(before - this.#hopsLeft, byTime), TURN_HOPS);
  }
}
