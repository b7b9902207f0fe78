/**
 * Keeps the IPNode of this node as the agent's facts are: nothing is written twice, little is written soon, and a failure is tried again
 * with what is true by then. It decides when; ip-node-status.ts what, ip-node-object.ts how.
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../../log/log.ts';
import type { IpNodeStatus } from '../../model/ip-node.ts';
import { ApiError, ApiUnreachable, isConflict, isNotFound } from '../../sources/kube/api.ts';
import { backOffMs, retryAfterMs } from '../../sources/kube/back-off.ts';
import { versionNumber } from '../../sources/kube/object-key.ts';
import { NamedTimers } from '../named-timers.ts';
import { LOOK_MS } from './instance.ts';
import type { IpNodeObject } from './ip-node-object.ts';
import { ipNodeStatus, type ReportFacts } from './ip-node-status.ts';
import { ReleasePace } from './release-pace.ts';
import {
  isMoreUrgent,
  namespacesUnanswered,
  type Release,
  TokenBucket,
  type Urgency,
  urgencyOf,
  type Written,
  waitMs,
} from './write-pace.ts';

export interface IpNodeWriterOptions {
  readonly object: Pick<IpNodeObject, 'look' | 'write' | 'leave' | 'standing'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** undefined: there is nothing to tell yet */
  readonly facts: () => ReportFacts | undefined;
  /** after each look: whose IPNode it is may have changed */
  readonly onStanding?: () => void;
}

interface Turn {
  readonly delayMs: number;
  readonly takesOf: TokenBucket | ReleasePace;
}

/** how soon after a word of the agent its facts are looked at: not more than a twentieth of the time goes into that */
const GATHER_MS = 200;
const LONGEST_GATHER_MS = 2000;
const GATHER_SHARE = 20;
const FACT_BUCKET = { most: 10, refillMs: 5000 };
/** while exclusive claims move, the controller waits for every answer; with 300 of them in one, 1,500 claims need some twenty */
const MOVE_BUCKET = { most: 40, refillMs: 250 };
const RETRY = { firstMs: 500, longestMs: 30_000 };
/** while another instance has it, or its Node is missing */
const ASKING_LOOK_MS = 5000;
const LAST_WRITE_MS = 2000;
/** a timer may be a little early */
const EARLY_MS = 20;

export class IpNodeWriter {
  readonly #options: IpNodeWriterOptions;
  readonly #timers: NamedTimers;
  readonly #factBucket: TokenBucket;
  readonly #moveBucket: TokenBucket;
  readonly #releases: ReleasePace;
  #written: Written | undefined;
  /** the difference that waits: when it was seen first, and where in its span of time it is written */
  #waiting: { urgency: Urgency; sinceMs: number; draw: number } | undefined;
  /** of the object that we wrote to */
  #uid: string | undefined;
  #isReady = false;
  #running: Promise<void> | undefined;
  #failures = 0;
  /** after a failure nothing is written sooner, whatever a look may find */
  #notBeforeMs = 0;
  #isStopped = true;
  #isLastWritten = false;
  #gatherMs = GATHER_MS;

  constructor(options: IpNodeWriterOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#timers = new NamedTimers(clock);
    this.#factBucket = new TokenBucket(FACT_BUCKET.most, FACT_BUCKET.refillMs, clock.now());
    this.#moveBucket = new TokenBucket(MOVE_BUCKET.most, MOVE_BUCKET.refillMs, clock.now());
    this.#releases = new ReleasePace(random, clock.now());
  }

  start(): void {
    this.#isStopped = false;
    this.#lookSoon(0);
  }

  /** Something that the report tells may have changed. */
  poke(): void {
    if (!this.#isStopped) this.#timers.startOnce('gather', this.#gatherMs, () => this.#gather());
  }

  /** The Node of this node has appeared, or is another one. */
  nodeChanged(): void {
    if (!this.#isStopped) this.#lookSoon(0);
  }

  /**
   * Writes what is true at the end, within two seconds; `leave`: the next instance is another one.
   * True: it stands there.
   */
  async stop(how: 'leave' | 'keep'): Promise<boolean> {
    this.#isStopped = true;
    this.#timers.cancelAll();
    const { clock } = this.#options;
    await new Promise<void>((resolve) => {
      const timer = clock.startTimer(LAST_WRITE_MS, resolve);
      void this.#last(how).then(() => {
        timer.cancel();
        resolve();
      });
    });
    return this.#isLastWritten;
  }

  async #last(how: 'leave' | 'keep'): Promise<void> {
    await this.#running;
    const now = this.#now();
    try {
      if (this.#isReady && now !== undefined) {
        const isNews = urgencyOf(this.#written, now) !== 'none';
        if (isNews) await this.#options.object.write(now.status);
        this.#isLastWritten = true;
      }
      if (how === 'leave') await this.#options.object.leave();
    } catch (error) {
      // it is found out without us
      expectApiError(error);
    }
  }

  #lookSoon(delayMs: number): void {
    this.#timers.start('look', delayMs, () => this.#do(() => this.#look()));
  }

  async #look(): Promise<void> {
    const { object, onStanding } = this.#options;
    const uid = await object.look();
    const isOurs = uid !== undefined;
    // what stands there may not be what we wrote: made anew, or another instance's
    if (!this.#isReady || uid !== this.#uid) this.#written = undefined;
    this.#uid = uid;
    this.#isReady = isOurs;
    onStanding?.();
    const spread = 0.9 + 0.2 * this.#options.random.next();
    if (!this.#isStopped) this.#lookSoon((isOurs ? LOOK_MS : ASKING_LOOK_MS) * spread);
    if (isOurs) this.#gather();
  }

  #gather(): void {
    if (this.#isStopped || !this.#isReady) return;
    const { clock } = this.#options;
    const startedMs = clock.now();
    const now = this.#now();
    const tookMs = clock.now() - startedMs;
    this.#gatherMs = Math.min(Math.max(GATHER_MS, GATHER_SHARE * tookMs), LONGEST_GATHER_MS);
    const turn = now === undefined ? undefined : this.#turnOf(now);
    if (turn === undefined) {
      this.#failures = 0;
      this.#timers.cancel('write');
      return;
    }
    this.#writeSoon(turn.delayMs);
  }

  #writeSoon(delayMs: number): void {
    this.#timers.start('write', delayMs, () => this.#do(() => this.#write()));
  }

  /** when this is written, and of what that takes a token; undefined: it is written already */
  #turnOf(now: Written): Turn | undefined {
    const nowMs = this.#options.clock.now();
    const urgency = urgencyOf(this.#written, now);
    this.#releases.see(namespacesUnanswered(this.#written, now), nowMs - GATHER_MS);
    const beside = this.#turnBeside(this.#besideReleases(now), nowMs);
    if (urgency !== 'release') return beside;
    const releasesMs = Math.max(this.#releases.delayMs(nowMs), this.#notBeforeMs - nowMs);
    // what else is to be told does not wait for the turn of releases
    const isBesideFirst = beside !== undefined && beside.delayMs < releasesMs;
    return isBesideFirst ? beside : { delayMs: releasesMs, takesOf: this.#releases };
  }

  #turnBeside(urgency: Urgency, nowMs: number): Turn | undefined {
    if (urgency === 'none') {
      this.#waiting = undefined;
      return undefined;
    }
    const { sinceMs, draw } = this.#waitingFor(urgency);
    const dueMs = Math.max(sinceMs + waitMs(urgency, draw), this.#notBeforeMs);
    const takesOf = urgency === 'move' ? this.#moveBucket : this.#factBucket;
    return { delayMs: Math.max(dueMs - nowMs, takesOf.waitMs(nowMs)), takesOf };
  }

  /** how urgent all that is not the answer to a release is */
  #besideReleases(now: Written): Urgency {
    const before = this.#written;
    if (before === undefined) return 'move';
    return urgencyOf(before, { ...now, released: before.released });
  }

  /** what is more urgent than what waits has not waited yet: numbers do wait, on all nodes, nearly always */
  #waitingFor(urgency: Urgency): { readonly sinceMs: number; readonly draw: number } {
    const { clock, random } = this.#options;
    const waiting = this.#waiting;
    // a move is between two nodes, and goes as soon as it may
    const isNew = urgency !== 'move' && isMoreUrgent(urgency, waiting?.urgency ?? 'none');
    if (waiting !== undefined && !isNew) return waiting;
    this.#waiting = { urgency, sinceMs: clock.now() - GATHER_MS, draw: random.next() };
    return this.#waiting;
  }

  async #write(): Promise<void> {
    const now = this.#now();
    if (now === undefined || !this.#isReady) return;
    const turn = this.#turnOf(now);
    if (turn === undefined) return;
    // what was due when this was begun is no more, or something has failed since
    if (turn.delayMs > EARLY_MS) {
      if (!this.#isStopped) this.#writeSoon(turn.delayMs);
      return;
    }
    turn.takesOf.take(this.#options.clock.now());
    await this.#options.object.write(now.status);
    this.#written = now;
    this.#failures = 0;
    this.#waiting = undefined;
    this.#releases.answered();
    this.#isReady = this.#options.object.standing?.kind === 'ours';
    this.poke();
  }

  #now(): Written | undefined {
    const { facts, clock } = this.#options;
    const found = facts();
    if (found === undefined) return undefined;
    const nowText = `${new Date(clock.wallTimeMs()).toISOString().slice(0, 19)}Z`;
    const before: IpNodeStatus = this.#written?.status ?? {};
    const status = ipNodeStatus(found, before, nowText);
    return { status, ...this.#answered(found), awaited: found.awaited };
  }

  /**
   * What is still on its way answers nothing yet; the agent tells when it is out. But a release that
   * the number has passed is answered by it, whatever came later: others change claims all the
   * time, and an agent may be behind one of them whenever it is asked.
   */
  #answered(found: ReportFacts): Pick<Written, 'released' | 'moves'> {
    const { isCurrent, observedClaims, released, moves } = found;
    if (isCurrent) return { released, moves };
    const before = this.#written ?? NOTHING_ANSWERED;
    const observed = versionNumber(observedClaims ?? '');
    const isAnswered = ([name, { version }]: readonly [string, Release]) =>
      before.released.has(name) || (version !== undefined && version <= observed);
    return { released: new Map([...released].filter(isAnswered)), moves: before.moves };
  }

  /** one after the other; what fails is done anew from the beginning, which is a look */
  #do(work: () => Promise<void>): void {
    const before = this.#running ?? Promise.resolve();
    const mine = before
      .then(work)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        if (this.#running === mine) this.#running = undefined;
      });
    this.#running = mine;
  }

  #failed(error: unknown): void {
    const told = expectApiError(error);
    this.#failures += 1;
    // gone: the look makes it anew, and all is written again
    if (isNotFound(error)) this.#isReady = false;
    if (this.#isStopped) return;
    const { random, log, clock } = this.#options;
    const isQuick = this.#failures === 1 && (isNotFound(error) || isConflict(error));
    const asked = retryAfterMs(error) * (1 + random.next() / 2);
    const delayMs = Math.max(isQuick ? 0 : backOffMs(this.#failures, random, RETRY), asked);
    this.#notBeforeMs = clock.now() + delayMs;
    const level = this.#failures === WARN_AFTER ? 'warn' : 'debug';
    log[level]('agent.report', { reason: told.message }, 'the IPNode could not be written');
    this.#lookSoon(delayMs);
  }
}

const WARN_AFTER = 3;
const NOTHING_ANSWERED: Pick<Written, 'released' | 'moves'> = { released: new Map(), moves: 0 };

function expectApiError(error: unknown): Error {
  if (error instanceof ApiError || error instanceof ApiUnreachable) return error;
  throw error;
}
