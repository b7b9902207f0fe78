/**
 * Writes the condition `herald.dev/Advertised` of Services, and tells of its changes in events. Every write of a Service goes to
 * kube-proxy on every node, so it is written when its reason changes, not before it has lasted, and at a rate that falls with the number of nodes;
 * the numbers in its message are brought up to date at the slowest pace of all.
 */

import type { Clock, Random } from 'bgp-ts';
import { NamedTimers } from '../agent/named-timers.ts';
import type { Log } from '../log/log.ts';
import type { Service } from '../model/service.ts';
import { isNotFound, type KubeApi } from '../sources/kube/api.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { inNamespace, SERVICES } from '../sources/kube/resources.ts';
import { ADVERTISED } from './advertised.ts';
import { AdvertisedIndex } from './advertised-index.ts';
import { type CachedDocument, knownOf } from './cached-document.ts';
import type { ControllerCaches } from './caches.ts';
import { changedCondition, type WantedCondition } from './conditions.ts';
import { type ControllerCounters, NO_COUNTERS } from './counters.ts';
import { type EventSink, serviceRef } from './events.ts';
import { GiveWay, writesPerSecond } from './give-way.ts';
import { Pace } from './pace.ts';

export interface AdvertisedLoopOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly caches: ControllerCaches;
  readonly events: EventSink;
  readonly counters?: ControllerCounters;
  /** addresses are being given out: this can wait */
  readonly isBusy?: () => boolean;
}

/** at least this long after a change */
const DEBOUNCE_MS = 5000;
/** a session that is back by then, a burst of Services that has been taken up, has cost no write; a Service that nobody advertises is told of at once */
const PARTLY_MS = 30_000;
const PASSING: ReadonlySet<string> = new Set(['PartlyAdvertised', 'NotKnown']);
/** kube-proxy takes seconds, and that is the plan: nobody is told of it before */
const WAITING = 'Waiting';
const WAITING_MS = 10_000;
/** how long numbers may be out of date */
const STALE_NUMBERS_MS = 60_000;
const CONCURRENCY = 4;
const SLICE = 500;
const SLICE_MS = 10;

export class AdvertisedLoop {
  readonly #options: AdvertisedLoopOptions;
  readonly #counters: ControllerCounters;
  #run: Run | undefined;

  constructor(options: AdvertisedLoopOptions) {
    this.#options = options;
    this.#counters = options.counters ?? NO_COUNTERS;
  }

  start(): void {
    this.#run ??= new Run(this.#options, this.#counters);
  }

  stop(): void {
    this.#run?.stop();
    this.#run = undefined;
  }
}

/** from one start to its stop */
class Run {
  readonly #options: AdvertisedLoopOptions;
  readonly #index: AdvertisedIndex;
  readonly #queue: KeyQueue;
  readonly #pace: Pace;
  /** where only the numbers in the message are old: a queue of its own, so that nobody with news waits behind it */
  readonly #numbers: KeyQueue;
  readonly #numbersPace: Pace;
  readonly #timers: NamedTimers;
  readonly #ends: (() => void)[];
  /** since when a Service's condition should have another reason, or other words */
  readonly #since = new Map<string, { readonly reason: string; readonly sinceMs: number }>();
  readonly #dirty = new Set<string>();
  readonly #giveWay: GiveWay;
  #isStopped = false;

  constructor(options: AdvertisedLoopOptions, counters: ControllerCounters) {
    const { clock, random, caches } = options;
    this.#options = options;
    this.#timers = new NamedTimers(clock);
    this.#giveWay = new GiveWay(clock, options.isBusy);
    this.#pace = new Pace(clock, () => writesPerSecond(caches.nodes.items.size));
    this.#numbersPace = new Pace(clock, () => 1);
    this.#queue = new KeyQueue({
      clock,
      random,
      concurrency: CONCURRENCY,
      work: (key) => this.#look(key, false),
    });
    this.#numbers = new KeyQueue({
      clock,
      random,
      concurrency: 1,
      work: (key) => this.#look(key, true),
    });
    this.#index = new AdvertisedIndex(caches, (service) => this.#touch(service));
    this.#ends = [...this.#subscribe(), counters.queue('advertised', () => this.#queue.depth)];
    for (const [key, service] of caches.services.items) {
      if (service.conditions.some(({ type }) => type === ADVERTISED)) this.#touch(key);
    }
    for (const service of this.#index.services) this.#touch(service);
  }

  stop(): void {
    this.#isStopped = true;
    for (const end of this.#ends) end();
    this.#timers.cancelAll();
    this.#queue.stop();
    this.#numbers.stop();
    this.#pace.stop();
    this.#numbersPace.stop();
  }

  #subscribe(): readonly (() => void)[] {
    const { caches } = this.#options;
    const index = this.#index;
    const soon = () => this.#soon();
    return [
      caches.subscribe('claims', (_, now, before) => {
        index.claimChanged(knownOf(now), knownOf(before));
      }),
      caches.subscribe('ipNodes', (key, now, before) => {
        index.ipNodeChanged(key, now, before);
        soon();
      }),
      caches.subscribe('nodes', (key) => {
        index.nodeChanged(key);
        soon();
      }),
      caches.subscribe('pools', (_, now, before) => this.#documentChanged(now, before)),
      caches.subscribe('peers', (_, now, before) => this.#documentChanged(now, before)),
      // another Service of that name has no condition yet
      caches.subscribe('services', (key, now, before) => {
        if (now?.uid !== before?.uid) this.#touch(key);
      }),
    ];
  }

  #documentChanged(
    now: CachedDocument<unknown> | undefined,
    before: CachedDocument<unknown> | undefined,
  ): void {
    if (isSame(now, before)) return;
    this.#index.documentsChanged();
    this.#soon();
  }

  #touch(service: string): void {
    this.#dirty.add(service);
    this.#soon();
  }

  #soon(): void {
    if (!this.#isStopped) this.#timers.startOnce('flush', DEBOUNCE_MS, () => this.#flush());
  }

  #flush(): void {
    if (this.#giveWay.mustWait()) {
      this.#soon();
      return;
    }
    this.#index.refresh();
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    // what `refresh` has made dirty has waited long enough too
    this.#timers.cancel('flush');
    this.#hand(dirty, 0);
  }

  /** A slice at a time: a look at ten thousand Services in one go would hold up whoever has a Lease to renew. */
  #hand(keys: readonly string[], from: number): void {
    for (const key of keys.slice(from, from + SLICE)) this.#queue.add(key);
    const next = from + SLICE;
    if (next >= keys.length || this.#isStopped) return;
    this.#options.clock.startTimer(SLICE_MS, () => this.#hand(keys, next));
  }

  async #look(key: string, isForNumbers: boolean): Promise<QueueOutcome> {
    const service = this.#options.caches.services.get(key);
    const wanted = this.#index.conditionOf(key);
    if (service === undefined || wanted === undefined) return await this.#remove(key, service);
    const standing = service.conditions.find(({ type }) => type === ADVERTISED);
    const change = changedCondition(service.conditions, wanted, this.#options.clock.wallTimeMs());
    if (change === undefined) {
      this.#since.delete(key);
      return DONE;
    }
    const isNews = standing?.reason !== wanted.reason || standing.status !== wanted.status;
    const waitMs = this.#waitMs(key, wanted, { isNews, isFirst: standing === undefined });
    if (isNews === isForNumbers) {
      // it is the other queue's
      (isNews ? this.#queue : this.#numbers).add(key, waitMs);
      return DONE;
    }
    if (waitMs > 0) return { kind: 'retry', afterMs: waitMs };
    await (isNews ? this.#pace : this.#numbersPace).take();
    if (this.#isStopped) return DONE;
    await this.#write(service, [change]);
    this.#since.delete(key);
    if (isNews) this.#tell(service, wanted, standing !== undefined);
    return DONE;
  }

  /** how much longer it must have lasted */
  #waitMs(
    key: string,
    { reason }: WantedCondition,
    { isNews, isFirst }: { readonly isNews: boolean; readonly isFirst: boolean },
  ): number {
    const nowMs = this.#options.clock.now();
    const known = this.#since.get(key);
    const since = known?.reason === reason ? known : { reason, sinceMs: nowMs };
    this.#since.set(key, since);
    if (reason === WAITING) return since.sinceMs + WAITING_MS - nowMs;
    if (isFirst) return 0;
    const lastMs = isNews ? (PASSING.has(reason) ? PARTLY_MS : 0) : STALE_NUMBERS_MS;
    return since.sinceMs + lastMs - nowMs;
  }

  async #remove(key: string, service: Service | undefined): Promise<QueueOutcome> {
    this.#since.delete(key);
    if (service?.conditions.every(({ type }) => type !== ADVERTISED) ?? true) return DONE;
    await this.#pace.take();
    if (this.#isStopped || service === undefined) return DONE;
    await this.#write(service, [{ type: ADVERTISED, $patch: 'delete' }]);
    return DONE;
  }

  /** merged by type, so that conditions of others are not even read; the uid keeps it from another Service of that name */
  async #write({ namespace, name, uid }: Service, conditions: readonly object[]): Promise<void> {
    const body = { metadata: { uid }, status: { conditions } };
    const patch = { kind: 'strategic', body } as const;
    try {
      await this.#options.api.patch(inNamespace(SERVICES, namespace), name, patch, {
        subresource: 'status',
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #tell(service: Service, { status, reason, message }: WantedCondition, isChange: boolean): void {
    // the first good news is what everybody expects
    if (!isChange && status === 'True') return;
    const isNormal = (status === 'True' && reason === 'Advertised') || reason === WAITING;
    const type = isNormal ? 'Normal' : 'Warning';
    this.#options.events.record({ object: serviceRef(service), type, reason, message });
  }
}

/** but for its status, which is our own doing */
function isSame(
  now: CachedDocument<unknown> | undefined,
  before: CachedDocument<unknown> | undefined,
): boolean {
  return (
    now?.meta.uid === before?.meta.uid &&
    now?.meta.generation === before?.meta.generation &&
    JSON.stringify(now?.meta.labels) === JSON.stringify(before?.meta.labels)
  );
}
