/**
 * A queue of keys for a loop that reads the caches when a key's turn comes: what is queued is the name of the work, never its state,
 * so a late retry sees what is true then and cannot bring back what was true before.
 *
 * A key waits at most once and is worked on by one worker at a time; what is added while it is worked on runs once more after. Work
 * that fails is tried again with back-off of its own, unless the key is added again before: news does not wait.
 *
 * Keys `namespace/name` take turns by namespace: who has one Service waits for one key of each other namespace, not for all of them, however many Services
 * another tenant makes or edits (docs/decisions/0060). Within a namespace, and among keys without one, it is the order in which they came.
 * A loop may say in whose turn other keys stand (`inTurnOf`): claims are named without a namespace.
 *
 * Thousands of keys that need no answer from anybody are no single turn of the main thread: after TURN_MS the rest waits for the next one, so
 * that the Lease, the watches and the other queues get theirs (docs/decisions/0033).
 */

import type { Clock, Random, Timer } from 'bgp-ts';
import { labelled } from '../../turns/work-labels.ts';
import { ApiError, ApiUnreachable } from './api.ts';
import { BACK_OFF, type BackOff, backOffMs } from './back-off.ts';
import { NamespaceTurns, namespaceOf } from './namespace-turns.ts';

export type QueueOutcome =
  | { readonly kind: 'done' }
  /** `afterMs` instead of the back-off, for work that knows when it can go on */
  | { readonly kind: 'retry'; readonly afterMs?: number };

export const DONE: QueueOutcome = { kind: 'done' };

export interface KeyQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** how many keys are worked on at the same time */
  readonly concurrency: number;
  /** an ApiError or ApiUnreachable that it throws is a retry; anything else is a mistake of ours and ends the process */
  readonly work: (key: string) => Promise<QueueOutcome>;
  /** the namespace in whose turn a key stands; absent: the one that it begins with */
  readonly inTurnOf?: (key: string) => string;
  readonly backOff?: BackOff;
  /** told of each failure that will be tried again, e.g. for a log or a metric */
  readonly onFailure?: (key: string, error: ApiError | ApiUnreachable, failures: number) => void;
}

/** how long one queue works without giving way */
const TURN_MS = 20;

export class KeyQueue {
  readonly #options: KeyQueueOptions;
  readonly #waiting = new NamespaceTurns();
  readonly #running = new Set<string>();
  /** added while they were worked on */
  readonly #again = new Set<string>();
  readonly #later = new Map<string, { readonly timer: Timer; readonly dueMs: number }>();
  readonly #failures = new Map<string, number>();
  #isStopped = false;
  #isPumpDue = false;
  /** when this turn of the main thread began for us; undefined: nothing has been begun in it */
  #turnMs: number | undefined;

  constructor(options: KeyQueueOptions) {
    this.#options = options;
  }

  /** keys that wait for a worker or are with one; those that wait for a time are not counted */
  get depth(): number {
    return this.#waiting.size + this.#running.size;
  }

  /** the same of one namespace */
  depthOf(namespace: string): number {
    let running = 0;
    for (const key of this.#running) if (this.#turnOf(key) === namespace) running += 1;
    return this.#waiting.sizeOf(namespace) + running;
  }

  get isIdle(): boolean {
    return this.depth === 0 && this.#later.size === 0;
  }

  /** how often in a row this key has failed */
  failuresOf(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The earlier of two wishes for the same key counts. */
  add(key: string, delayMs = 0): void {
    if (this.#isStopped) return;
    if (delayMs > 0) this.#addLater(key, delayMs);
    else this.#addNow(key);
  }

  /** What is being worked on comes to its end; nothing is begun any more. */
  stop(): void {
    this.#isStopped = true;
    for (const { timer } of this.#later.values()) timer.cancel();
    this.#later.clear();
    this.#waiting.clear();
    this.#again.clear();
    this.#failures.clear();
  }

  #addNow(key: string): void {
    this.#forgetLater(key);
    if (this.#running.has(key)) this.#again.add(key);
    else {
      this.#waiting.add(key, this.#turnOf(key));
      this.#pumpSoon();
    }
  }

  #turnOf(key: string): string {
    return this.#options.inTurnOf?.(key) ?? namespaceOf(key);
  }

  #addLater(key: string, delayMs: number): void {
    if (this.#waiting.has(key) || this.#again.has(key)) return;
    const dueMs = this.#options.clock.now() + delayMs;
    const planned = this.#later.get(key);
    if (planned !== undefined && planned.dueMs <= dueMs) return;
    planned?.timer.cancel();
    const timer = this.#options.clock.startTimer(delayMs, () => this.#addNow(key));
    this.#later.set(key, { timer, dueMs });
  }

  #forgetLater(key: string): void {
    this.#later.get(key)?.timer.cancel();
    this.#later.delete(key);
  }

  /** not within `add`: who adds many keys, or the same key often, has finished by then */
  #pumpSoon(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    queueMicrotask(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#waiting.size > 0) {
      if (this.#running.size >= this.#options.concurrency) return;
      if (this.#isTurnOver()) return;
      const key = this.#waiting.take();
      this.#running.add(key);
      void this.#run(key);
    }
  }

  /** True: the next turn goes on. */
  #isTurnOver(): boolean {
    const nowMs = performance.now();
    if (this.#turnMs === undefined) {
      this.#turnMs = nowMs;
      setImmediate(() => {
        this.#turnMs = undefined;
        this.#pump();
      });
    }
    return nowMs - this.#turnMs > TURN_MS;
  }

  async #run(key: string): Promise<void> {
    const outcome = await this.#outcome(key);
    this.#running.delete(key);
    if (this.#isStopped) return;
    if (outcome.kind === 'done') this.#failures.delete(key);
    if (this.#again.delete(key)) this.#addNow(key);
    else if (outcome.kind === 'retry') this.#addLater(key, this.#delayOf(key, outcome));
    this.#pump();
  }

  async #outcome(key: string): Promise<QueueOutcome> {
    try {
      const outcome = await labelled('deciding', () => this.#options.work(key));
      if (outcome.kind === 'retry' && outcome.afterMs === undefined) this.#countFailure(key);
      return outcome;
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof ApiUnreachable)) throw error;
      const failures = this.#countFailure(key);
      if (!this.#isStopped) this.#options.onFailure?.(key, error, failures);
      return this.#retryAfter(error);
    }
  }

  #countFailure(key: string): number {
    const failures = this.failuresOf(key) + 1;
    if (!this.#isStopped) this.#failures.set(key, failures);
    return failures;
  }

  /** never 0: work that fails at once must not keep the process busy */
  #delayOf(key: string, { afterMs }: { readonly afterMs?: number }): number {
    const { random, backOff = BACK_OFF } = this.#options;
    return Math.max(afterMs ?? backOffMs(this.failuresOf(key), random, backOff), 1);
  }

  #retryAfter(error: ApiError | ApiUnreachable): QueueOutcome {
    if (!(error instanceof ApiError) || error.retryAfterMs === undefined) return { kind: 'retry' };
    // a busy server tells everybody the same time
    return { kind: 'retry', afterMs: error.retryAfterMs * (1 + this.#options.random.next() / 2) };
  }
}
