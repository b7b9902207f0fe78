/**
 * Leader election over one Lease: reads, writes and waits as election-rules.ts decides. Losing the Lease ends nothing but the leading:
 * the process stays a standby with warm caches. What is written is guarded by write-guard.ts with `mayWriteUntilMs`.
 */

import type { Clock, Random, Timer } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import { CONTROLLER_LEASE, NAMESPACE } from '../model/names.ts';
import { optional } from '../model/optional.ts';
import {
  ApiError,
  ApiUnreachable,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeApi,
  type KubeObject,
} from '../sources/kube/api.ts';
import { LEASES } from '../sources/kube/resources.ts';
import {
  type ElectionState,
  type ElectionTimes,
  expiryMs,
  held,
  intentOf,
  isHeld,
  type LeaseRecord,
  lost,
  observe,
} from './election-rules.ts';
import { leaseBody, leaseRecord } from './lease-object.ts';

export interface ElectionOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** of this process alone: no two have the same, not even on one host */
  readonly identity: string;
  readonly times: ElectionTimes;
  readonly onLead: () => void;
  readonly onLost: () => void;
  /** the Lease as it was read or written; undefined: there is none */
  readonly onRecord?: (record: LeaseRecord | undefined) => void;
}

/** What becomes of the Lease at a stop: `keepMs` leaves it to the same identity for so long. */
export type LeaseEnd = { readonly kind: 'release' } | { readonly kind: 'keep'; keepMs: number };

export class Election {
  readonly #options: ElectionOptions;
  #state: ElectionState = {};
  /** the Lease as it was last read or written, for its resourceVersion */
  #lease: KubeObject | undefined;
  /** how often it has gone to another, as far as we have seen: that goes on where somebody deletes it */
  #transitions: number | undefined;
  #isLeading = false;
  #isStopped = true;
  #isLeaving = false;
  #isTrying: Promise<void> | undefined;
  #hasNews = false;
  #next: Timer | undefined;
  #deadline: Timer | undefined;
  #problem = '';

  constructor(options: ElectionOptions) {
    this.#options = options;
  }

  get isLeading(): boolean {
    return this.#isLeading && isHeld(this.#state, this.#options.clock.now());
  }

  /** until when we may write, on our own clock; in the past where we do not lead */
  get mayWriteUntilMs(): number {
    return this.#isLeading ? (this.#state.heldUntilMs ?? 0) : Number.NEGATIVE_INFINITY;
  }

  /** before this nobody else can lead: what we have sent must have come to its end by then */
  get fencedUntilMs(): number {
    return this.#state.fencedUntilMs ?? Number.NEGATIVE_INFINITY;
  }

  start(): void {
    this.#isStopped = false;
    this.#try();
  }

  /** The Lease has changed, says a watch: no need to wait for the next look at it. */
  kick(): void {
    if (!this.#isLeading) this.#try();
  }

  /** The process is about to stop: the Lease says so from now on, and is held until `stop`. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await this.#isTrying;
    this.#try();
    await this.#isTrying;
  }

  /** Ends the election, and gives the Lease back when it is ours: another one leads a moment later. */
  async stop(end: LeaseEnd = { kind: 'release' }): Promise<void> {
    this.#isStopped = true;
    this.#next?.cancel();
    await this.#isTrying;
    const wasHeld = isHeld(this.#state, this.#options.clock.now());
    this.#yield('stopping');
    if (wasHeld) await this.#release(end);
  }

  #try(): void {
    if (this.#isStopped) return;
    if (this.#isTrying !== undefined) {
      this.#hasNews = true;
      return;
    }
    this.#next?.cancel();
    this.#hasNews = false;
    this.#isTrying = this.#attempt().then((delayMs) => {
      this.#isTrying = undefined;
      if (this.#isStopped) return;
      if (this.#hasNews && !this.#isLeading) this.#try();
      else this.#next = this.#options.clock.startTimer(delayMs, () => this.#try());
    });
  }

  /** resolves to how long to wait for the next one */
  async #attempt(): Promise<number> {
    const { times, random } = this.#options;
    const retryMs = times.retryMs * (1 + random.next() / 5);
    try {
      const untilExpiryMs = await this.#campaign();
      this.#said('');
      return Math.min(retryMs, Math.max(untilExpiryMs, 1));
    } catch (error) {
      if (!(error instanceof ApiError) && !(error instanceof ApiUnreachable)) throw error;
      if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) this.#lease = undefined;
      if (isConflict(error) || isAlreadyExists(error)) return retryMs / 10;
      this.#said(error.message);
      return retryMs;
    }
  }

  /** resolves to how long the record of another holder still counts */
  async #campaign(): Promise<number> {
    const { identity, times, clock } = this.#options;
    // frozen for a while, or out of luck for as long: it may not even try to renew by what it knew
    if (this.#isLeading && !this.isLeading) this.#yield('it could not be renewed in time');
    // a leader knows what stands there; if it is mistaken, the write is refused and it reads again
    const lease = this.#isLeading && this.#lease !== undefined ? this.#lease : await this.#read();
    const record = lease && leaseRecord(lease);
    const nowMs = clock.now();
    if (record !== undefined) this.#state = observe(this.#state, record, nowMs);
    this.#note(record);
    const intent = intentOf(this.#state, record, { identity, times, nowMs });
    if (intent !== 'wait') {
      await this.#hold(lease, record);
      return Number.POSITIVE_INFINITY;
    }
    if (this.#isLeading && record !== undefined) this.#yield(`${record.holder} leads now`);
    return record === undefined ? 0 : expiryMs(this.#state, record, { times, nowMs }) - nowMs;
  }

  async #read(): Promise<KubeObject | undefined> {
    try {
      this.#lease = await this.#options.api.get(LEASES, CONTROLLER_LEASE, this.#bound());
      return this.#lease;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#lease = undefined;
      return undefined;
    }
  }

  async #hold(lease: KubeObject | undefined, record: LeaseRecord | undefined): Promise<void> {
    const { api, clock, identity, times } = this.#options;
    const sentMs = clock.now();
    const wallMs = clock.wallTimeMs();
    const isLeaving = this.#isLeaving;
    const about = {
      before: lease,
      record,
      isLeaving,
      ...optional('transitions', this.#transitions),
    };
    const body = leaseBody({ identity, times, wallMs, ...about });
    this.#lease =
      lease === undefined
        ? await api.create(LEASES, body, this.#bound())
        : await api.update(LEASES, CONTROLLER_LEASE, body, this.#bound());
    this.#state = held(this.#state, sentMs, times);
    this.#note(leaseRecord(this.#lease));
    // an answer that took longer than the deadline holds nothing
    if (!isHeld(this.#state, clock.now()) || this.#isStopped) return;
    this.#watchDeadline();
    if (this.#isLeading) return;
    this.#isLeading = true;
    this.#options.log.info('controller.lead', { identity }, 'leading');
    this.#options.onLead();
  }

  #note(record: LeaseRecord | undefined): void {
    if (record !== undefined) this.#transitions = record.transitions;
    this.#options.onRecord?.(record);
  }

  /** short enough for a second try before the deadline */
  #bound(): { readonly timeoutMs: number } {
    return { timeoutMs: Math.ceil(this.#options.times.renewDeadlineMs / 2) };
  }

  #watchDeadline(): void {
    const { clock } = this.#options;
    this.#deadline?.cancel();
    const leftMs = (this.#state.heldUntilMs ?? 0) - clock.now();
    this.#deadline = clock.startTimer(leftMs, () => {
      if (!isHeld(this.#state, clock.now())) this.#yield('it could not be renewed in time');
    });
  }

  #yield(why: string): void {
    this.#deadline?.cancel();
    this.#state = lost(this.#state);
    if (!this.#isLeading) return;
    this.#isLeading = false;
    const { log, identity, onLost } = this.#options;
    log.warn('controller.lead', { identity, reason: why }, 'leading no more');
    onLost();
  }

  async #release(end: LeaseEnd): Promise<void> {
    const { identity, clock, log, api } = this.#options;
    const before = this.#lease;
    if (before === undefined) return;
    const isKept = end.kind === 'keep';
    const times = isKept
      ? { ...this.#options.times, leaseMs: Math.max(this.#options.times.leaseMs, end.keepMs) }
      : this.#options.times;
    const body = leaseBody({
      identity: isKept ? identity : '',
      times,
      wallMs: clock.wallTimeMs(),
      before,
      record: leaseRecord(before),
      isLeaving: isKept,
    });
    try {
      await api.update(LEASES, CONTROLLER_LEASE, body, { timeoutMs: times.retryMs });
    } catch (error) {
      if (!(error instanceof ApiError) && !(error instanceof ApiUnreachable)) throw error;
      const fields = { identity, problem: error.message };
      log.warn('controller.lead', fields, 'the Lease could not be given back and must expire');
    }
  }

  /** once per problem, not once per try */
  #said(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    const { log, identity } = this.#options;
    const lease = `${NAMESPACE}/${CONTROLLER_LEASE}`;
    if (problem === '') log.info('controller.lead', { identity }, 'the Lease can be reached again');
    else log.warn('controller.lead', { identity, lease, problem }, 'the Lease cannot be had');
  }
}
