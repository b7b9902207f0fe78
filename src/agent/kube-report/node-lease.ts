/**
 * Keeps the Lease of this node renewed while exclusive claims may come here, and says when this node must step down (fence.ts).
 *
 * A request never holds up the next one: it is given up before the next is due. The fence is looked at on a timer of its own, and once more
 * before every decision, so that a process that was frozen steps down before it says anything.
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../../log/log.ts';
import { DEFAULT_LEASE_TIMES, type LeaseTimes, renewAfterMs } from '../../model/lease-times.ts';
import { nodeLease } from '../../model/names.ts';
import { ApiError, ApiUnreachable, isNotFound, type KubeApi } from '../../sources/kube/api.ts';
import { backOffMs, retryAfterMs } from '../../sources/kube/back-off.ts';
import { convertLease, type Lease } from '../../sources/kube/convert-lease.ts';
import { LEASES } from '../../sources/kube/resources.ts';
import { NamedTimers } from '../named-timers.ts';
import { withDeadline } from './deadline.ts';
import {
  caughtUp,
  deaf,
  FENCED,
  type Fence,
  isFenced,
  isSettled,
  lapsed,
  renewed,
} from './fence.ts';
import {
  holderIdentity,
  type LeaseWish,
  leaseBody,
  mayTake,
  type Sighting,
  sight,
} from './lease-record.ts';

export interface NodeLeaseOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly node: string;
  readonly instance: string;
  /** of the Node, as far as it is known */
  readonly nodeUid: () => string | undefined;
  /** an exclusive claim is here, or may come */
  readonly isNeeded: () => boolean;
  /** the claims of this node, asked for now, are those that it acts by */
  readonly hasCaughtUp: (signal: AbortSignal) => Promise<boolean>;
  /** how long the Lease lasts, and what follows from it; default 15 s */
  readonly times?: LeaseTimes;
  /** when the watch of the exclusive claims here had its last word; undefined: there are none */
  readonly claimsHeardMs?: () => number | undefined;
  /** `hasLapsed`: others may have been given the claims; stays until the fence is open again */
  readonly onFence: (isFenced: boolean, hasLapsed: boolean) => void;
}

/** how long the claims may take to come, all together: whoever gives up soon asks again, and makes it worse for all */
const ASK_MS = 10_000;
/** a thousand nodes come back from one outage together */
const ASK_BACK_OFF = { firstMs: 1000, longestMs: 8000 };
const RELEASE_MS = 1500;

export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #timers: NamedTimers;
  readonly #identity: string;
  readonly #times: LeaseTimes;
  #fence: Fence = FENCED;
  #wasFenced: boolean | undefined;
  #hasRunOut = true;
  /** when the last good renewal had begun, whatever has become of the fence */
  #lastRenewedMs = Number.NEGATIVE_INFINITY;
  #lease: Lease | undefined;
  /** what it was while it was known: a Lease that is renewed without it would outlive its Node */
  #nodeUid: string | undefined;
  #seen: Sighting | undefined;
  #otherHolder: string | undefined;
  #problem = '';
  #isRunning = false;
  #isRenewing = false;
  #isAsking = false;
  /** how often in a row the claims were asked for in vain, and when they may be asked for again */
  #askedInVain = 0;
  #askNotBeforeMs = 0;
  /** it was renewed in time before, and then was not */
  #hasLapsed = false;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    this.#timers = new NamedTimers(options.clock);
    this.#identity = holderIdentity(options.node, options.instance);
    this.#times = options.times ?? DEFAULT_LEASE_TIMES;
  }

  /** who renews the Lease of this node, where that is not us */
  get otherHolder(): string | undefined {
    return this.#otherHolder;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  get isFenced(): boolean {
    return isFenced(this.#fence, this.#options.clock.now(), this.#times);
  }

  /** since the last renewal that succeeded had begun */
  get ageMs(): number | undefined {
    const { renewedMs } = this.#fence;
    return renewedMs === undefined ? undefined : this.#options.clock.now() - renewedMs;
  }

  /** Whether it is needed may have changed. */
  poke(): void {
    const isNeeded = this.#options.isNeeded();
    if (isNeeded === this.#isRunning) return;
    if (isNeeded) this.#run();
    else void this.#rest();
  }

  /** Looks at the clock: what must step down does so now. Call it before anything is decided. */
  check(): void {
    const nowMs = this.#options.clock.now();
    const before = this.#fence;
    const heardMs = this.#options.claimsHeardMs?.();
    this.#fence = deaf(lapsed(before, nowMs, this.#times), heardMs, nowMs);
    this.#hasLapsed ||= this.#fence !== before;
    const now = this.isFenced;
    const hasRunOut =
      now && (this.#hasRunOut || nowMs - this.#lastRenewedMs >= this.#times.durationMs);
    if (now === this.#wasFenced && hasRunOut === this.#hasRunOut) return;
    if (this.#isRunning && now !== this.#wasFenced) this.#tell(now);
    this.#wasFenced = now;
    this.#hasRunOut = hasRunOut;
    this.#options.onFence(now, hasRunOut);
  }

  /** For good. What is given back is another's at once; what is kept is for our next process, and says for how long it is waited for. */
  async stop(how: 'release' | 'keep' | { readonly restartingSeconds: number }): Promise<void> {
    this.#timers.cancelAll();
    const wasRunning = this.#isRunning;
    this.#isRunning = false;
    if (!wasRunning || how === 'keep') return;
    await this.#leave(how === 'release' ? { holder: '' } : { holder: this.#identity, ...how });
  }

  #run(): void {
    this.#isRunning = true;
    this.check();
    this.#timers.every('look', this.#times.lookMs, () => this.check());
    this.#beat();
  }

  async #rest(): Promise<void> {
    this.#isRunning = false;
    this.#timers.cancelAll();
    this.#fence = FENCED;
    this.#otherHolder = undefined;
    this.#askedInVain = 0;
    this.#askNotBeforeMs = 0;
    this.check();
    await this.#leave({ holder: '' });
  }

  #beat(): void {
    const { clock, random } = this.#options;
    const times = this.#times;
    this.#timers.start('beat', renewAfterMs(times, random.next()), () => this.#beat());
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    const startedMs = clock.now();
    void withDeadline(clock, times.requestMs, (signal) => this.#attempt(signal))
      .then((isHeld) => this.#answered(isHeld, startedMs))
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#isRenewing = false;
      });
  }

  #answered(isHeld: boolean, startedMs: number): void {
    if (!this.#isRunning) return;
    this.#say('');
    if (!isHeld) return;
    this.#lastRenewedMs = startedMs;
    // a gap that nobody has looked at yet is one all the same
    const nowMs = this.#options.clock.now();
    this.#fence = renewed(this.#fence, { startedMs, nowMs }, this.#times);
    this.check();
    if (!isSettled(this.#fence, this.#times)) return;
    // after an outage all nodes have settled within the same second
    if (this.#hasLapsed) this.#askIn(this.#options.random.next() * this.#times.renewMs);
    else this.#askForClaims();
    this.#hasLapsed = false;
  }

  #failed(error: unknown): void {
    if (!(error instanceof ApiError || error instanceof ApiUnreachable)) throw error;
    // whatever stands there now has to be read first
    this.#lease = undefined;
    if (!this.#isRunning) return;
    this.#say(error.message);
    const { random } = this.#options;
    this.#timers.start('beat', this.#times.retryMs * (0.5 + random.next()), () => this.#beat());
  }

  /** false: another one holds it */
  async #attempt(signal: AbortSignal): Promise<boolean> {
    const { api, clock } = this.#options;
    const lease = this.#lease ?? (await this.#read(signal));
    signal.throwIfAborted();
    if (lease !== undefined) {
      this.#seen = sight(this.#seen, lease, clock.now());
      if (!mayTake(lease, this.#identity, this.#seen, clock.now())) {
        this.#heldByOther(lease);
        return false;
      }
    }
    const body = this.#body({ holder: this.#identity }, lease);
    const name = nodeLease(this.#options.node);
    const written =
      lease === undefined
        ? await api.create(LEASES, body, { signal })
        : await api.update(LEASES, name, body, { signal });
    // an answer that nobody waited for any more says nothing about what stands there now
    if (!signal.aborted) this.#lease = convertLease(written);
    this.#otherHolder = undefined;
    return true;
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    try {
      const found = await this.#options.api.get(LEASES, nodeLease(this.#options.node), { signal });
      return convertLease(found);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #heldByOther(lease: Lease): void {
    this.#lease = undefined;
    this.#fence = FENCED;
    if (this.#otherHolder !== lease.holder) {
      const reason = `${lease.holder} renews Lease ${lease.name}: a second machine goes by the name of this node; rename one of them`;
      this.#options.log.error('agent.identity', { reason }, 'exclusive claims stay one step down');
    }
    this.#otherHolder = lease.holder;
    this.check();
  }

  #askForClaims(): void {
    if (this.#isAsking || this.#options.clock.now() < this.#askNotBeforeMs) return;
    this.#isAsking = true;
    const { rowBeganMs } = this.#fence;
    void withDeadline(this.#options.clock, ASK_MS, this.#options.hasCaughtUp)
      .then((isCurrent) => {
        this.#isAsking = false;
        this.#askedInVain = isCurrent ? 0 : this.#askedInVain;
        if (isCurrent) this.#fence = caughtUp(this.#fence, rowBeganMs);
        else if (this.#isRunning) this.#askAgain();
        this.check();
      })
      .catch((error: unknown) => {
        this.#isAsking = false;
        if (!(error instanceof ApiError || error instanceof ApiUnreachable)) throw error;
        if (this.#isRunning) this.#askAgain(retryAfterMs(error));
      });
  }

  #askAgain(atLeastMs = 0): void {
    const { random } = this.#options;
    this.#askedInVain += 1;
    this.#askIn(Math.max(backOffMs(this.#askedInVain, random, ASK_BACK_OFF), atLeastMs));
  }

  #askIn(delayMs: number): void {
    const { clock } = this.#options;
    this.#askNotBeforeMs = clock.now() + delayMs;
    this.#timers.start('ask', delayMs, () => {
      this.#askNotBeforeMs = 0;
      if (isSettled(this.#fence, this.#times)) this.#askForClaims();
    });
  }

  /** The last word of this process. */
  async #leave(last: Pick<LeaseWish, 'holder' | 'restartingSeconds'>): Promise<void> {
    const { api, clock, node } = this.#options;
    try {
      await withDeadline(clock, RELEASE_MS, async (signal) => {
        const lease = await this.#read(signal);
        if (lease?.holder !== this.#identity) return;
        await api.update(LEASES, nodeLease(node), this.#body(last, lease), { signal });
      });
    } catch (error) {
      // it runs out by itself
      if (!(error instanceof ApiError || error instanceof ApiUnreachable)) throw error;
    }
    this.#lease = undefined;
  }

  #body(last: Pick<LeaseWish, 'holder' | 'restartingSeconds'>, before: Lease | undefined): object {
    const { node, clock } = this.#options;
    this.#nodeUid = this.#options.nodeUid() ?? this.#nodeUid;
    const { durationMs } = this.#times;
    const whose = { node, nodeUid: this.#nodeUid, ...last };
    const wish = { ...whose, wallMs: clock.wallTimeMs(), seconds: durationMs / 1000 };
    return leaseBody(wish, before);
  }

  #say(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    const { log } = this.#options;
    if (problem === '') log.info('agent.lease', {}, 'the Lease of this node is renewed');
    else log.warn('agent.lease', { reason: problem }, 'the Lease of this node is not renewed');
  }

  #tell(isDown: boolean): void {
    const { log } = this.#options;
    if (isDown)
      log.warn(
        'agent.fence',
        {},
        'exclusive claims step down: the API is not heard, or does not hear this node',
      );
    else log.info('agent.fence', {}, 'exclusive claims are back at their own level');
  }
}
