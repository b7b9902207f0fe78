/**
 * What of a decision concerns the kernel, and in which order: addresses and discard routes are there before what needs them is announced, and are removed after its
 * withdrawal has been written to every neighbour.
 */

import type { AgentOptions } from './agent-options.ts';
import { Binder } from './binder.ts';
import type { DesiredState } from './desired.ts';
import { Discarder } from './discarder.ts';
import { flushed } from './flush.ts';
import type { Knowledge } from './knowledge.ts';
import type { NamedTimers } from './named-timers.ts';

const RETRY_MS = 1000;
const LOOK_MS = 10_000;
/** an address there may allow an aggregate, and that needs a route there */
export const PREPARATIONS = 3;

const NOTHING = { bindings: new Map(), discards: new Map() };

/** What is wanted at the moment, and whether routers still keep what nobody has decided on. */
export interface Wanted extends Pick<DesiredState, 'bindings' | 'discards'> {
  readonly isSettling: boolean;
  /** nothing is decided any more */
  readonly hasEnded: boolean;
}

export class KernelSide {
  readonly #options: Pick<AgentOptions, 'speaker' | 'clock'>;
  readonly #knowledge: Knowledge;
  readonly #binder: Binder;
  readonly #discarder: Discarder;
  readonly #flushDeadlineMs: number;
  readonly #startedMs: number;
  #isReleasing = false;
  #timers: NamedTimers | undefined;
  #onKernel: () => void = () => undefined;

  constructor(
    options: Pick<AgentOptions, 'addresses' | 'discards' | 'log' | 'speaker' | 'clock'>,
    knowledge: Knowledge,
    flushDeadlineMs: number,
  ) {
    this.#options = options;
    this.#knowledge = knowledge;
    this.#startedMs = options.clock.now();
    this.#flushDeadlineMs = flushDeadlineMs;
    this.#binder = new Binder(options.addresses, options.log);
    this.#discarder = new Discarder(options.discards, options.log);
    knowledge.discards = this.#discarder.facts;
  }

  /** Addresses that a crash left go at once. Routes of aggregates may be wanted: over a planned restart routers still send here. */
  start(): void {
    this.#binder.release(new Map());
    this.read();
  }

  /** why the kernel cannot be asked, for people; undefined: it can */
  get problem(): string | undefined {
    return this.#binder.problem;
  }

  /** The kernel may have changed. */
  read(): void {
    this.#knowledge.own = this.#binder.ownAddresses();
    this.#discarder.recheck();
  }

  /** `onKernel` when it is to be looked at again: nobody tells of a route that somebody removes, or puts beside ours. */
  watch(timers: NamedTimers, onKernel: () => void): void {
    this.#timers = timers;
    this.#onKernel = onKernel;
    timers.every('discards', LOOK_MS, () => {
      if (this.#discarder.isBusy) onKernel();
    });
  }

  /** True when a fact has changed: then it is to be decided again. */
  prepare({ bindings, discards }: DesiredState): boolean {
    const isBound = this.#binder.ensure(bindings);
    if (isBound) this.#knowledge.bindings = this.#binder.facts;
    const isDiscarding = this.#discarder.ensure(discards);
    if (isDiscarding) this.#knowledge.discards = this.#discarder.facts;
    return isBound || isDiscarding;
  }

  /** What is not wanted any more goes as soon as no neighbour waits for a withdrawal; what is missing, and no event may announce, is tried again. */
  follow(wanted: () => Wanted): void {
    this.#retryIfBehind(wanted);
    if (this.#isEarly) this.#again(wanted);
    if (this.#isReleasing || !this.#hasLeftovers(wanted())) return;
    this.#isReleasing = true;
    const { speaker, clock } = this.#options;
    void flushed(speaker, clock, this.#flushDeadlineMs).then(() => {
      this.#isReleasing = false;
      const now = wanted();
      if (now.hasEnded) return;
      this.#release(now, now.isSettling || this.#isEarly);
      // what could not be removed is nobody's wish: no decision may come for a long time
      if (this.#hasLeftovers(wanted())) this.#again(wanted);
    });
  }

  #again(wanted: () => Wanted): void {
    this.#timers?.startOnce('leftovers', LOOK_MS, () => this.follow(wanted));
  }

  /** nothing is known yet, and documents may want in a moment what an agent before this one left */
  get #isEarly(): boolean {
    const { documents } = this.#knowledge;
    return documents === undefined && this.#options.clock.now() < this.#startedMs + LOOK_MS;
  }

  /** an interface that is missing costs a look each second, not a decision */
  #retryIfBehind(wanted: () => Wanted): void {
    if (!this.#binder.isBehind) return;
    this.#timers?.start('kernel', RETRY_MS, () => {
      if (!this.#binder.tryAgain(wanted().bindings)) return this.#retryIfBehind(wanted);
      this.#knowledge.bindings = this.#binder.facts;
      this.#onKernel();
    });
  }

  /** Nothing of ours is left. */
  releaseAll(): void {
    this.#release(NOTHING, false);
    this.close();
  }

  /** Its routes stay. */
  close(): void {
    this.#discarder.close();
  }

  #hasLeftovers({ bindings, discards, isSettling }: Wanted): boolean {
    const isRouteLeft = !isSettling && !this.#isEarly && this.#discarder.hasLeftovers(discards);
    return isRouteLeft || this.#binder.hasLeftovers(bindings);
  }

  #release({ bindings, discards }: Pick<Wanted, 'bindings' | 'discards'>, keepsRoutes: boolean) {
    this.#binder.release(bindings);
    if (keepsRoutes) return;
    this.#discarder.release(discards);
    this.#knowledge.discards = this.#discarder.facts;
  }
}
