/**
 * Writes the status of pools, and flags claims that a pool has left behind. Every agent hears of it, so it is written only where something
 * has changed, and after a second without further change. Bare numbers that were told a moment ago wait until it is calm, longer where many
 * addresses have come or gone than where somebody tries out a few; in a stream without an end they are told every five minutes.
 */

import type { Timer } from 'bgp-ts';
import type { ClaimRecord } from '../allocator/claim-record.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { ANYCAST_LABEL } from '../model/names.ts';
import { optional } from '../model/optional.ts';
import type { Condition } from '../model/service.ts';
import { isNotFound, type Resource } from '../sources/kube/api.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { IP_CLAIMS, IP_POOLS } from '../sources/kube/resources.ts';
import { type CachedDocument, type DocumentMeta, knownOf } from './cached-document.ts';
import { changedCondition, type WantedCondition, withCondition } from './conditions.ts';
import { documentRef } from './events.ts';
import { inPool, isOutside, isToldOf } from './in-pool.ts';
import type { LoopContext } from './loops.ts';
import { Pace } from './pace.ts';
import { poolStatus } from './pool-conditions.ts';
import { type KnownReleases, type Unconfirmed, unconfirmed } from './quarantine.ts';
import type { ServiceWorld } from './service-world.ts';

const QUIET_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
/** bare numbers are told again after `soon` and so much `quiet`, or `LATE_MS`, whatever goes on */
const FEW = { atMost: 16, soonMs: 20_000, quietMs: 5000 };
const MANY = { soonMs: 60_000, quietMs: 10_000 };
const LATE_MS = 300_000;
/** a pool with thousands of claims may go; every agent hears of each flag */
const FLAGS_PER_SECOND = 20;

export class PoolStatusLoop {
  readonly #context: LoopContext;
  readonly #world: ServiceWorld;
  readonly #releases: Pick<KnownReleases, 'awaitedBy' | 'seenForMs'>;
  readonly #pools: KeyQueue;
  readonly #flags: KeyQueue;
  readonly #pace: Pace;
  readonly #ends: (() => void)[] = [];
  #timer: Timer | undefined;
  /** the first and the last of what is to be told */
  #touched: { readonly firstMs: number; readonly lastMs: number } | undefined;
  /** claims by the pool that they were made from and that does not hold them */
  #outside: ReadonlyMap<string, readonly ClaimRecord[]> = new Map();
  /** pools with claims that are exclusive by their own words */
  #exclusive: ReadonlySet<string> = new Set();
  #unconfirmed: Unconfirmed = { byPool: new Map() };
  #againTimer: Timer | undefined;
  #isStopped = false;
  #changedMs = Number.NEGATIVE_INFINITY;
  /** when nothing but the numbers of a pool was written last */
  readonly #countedMs = new Map<string, number>();
  /** numbers that are to be told later */
  #numbers: { readonly timer: Timer; readonly dueMs: number } | undefined;

  constructor(
    context: LoopContext,
    world: ServiceWorld,
    releases: Pick<KnownReleases, 'awaitedBy' | 'seenForMs'>,
  ) {
    const { clock, random, counters } = context;
    this.#context = context;
    this.#world = world;
    this.#releases = releases;
    const queue = (work: (key: string) => Promise<QueueOutcome>) =>
      new KeyQueue({ clock, random, concurrency: 2, work });
    this.#pools = queue((name) => this.#writePool(name));
    this.#flags = queue((name) => this.#writeFlag(name));
    this.#pace = new Pace(clock, () => FLAGS_PER_SECOND);
    this.#ends.push(counters.queue('pool-status', () => this.#pools.depth + this.#flags.depth));
  }

  stop(): void {
    this.#isStopped = true;
    for (const end of this.#ends) end();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#againTimer?.cancel();
    this.#numbers?.timer.cancel();
    this.#pools.stop();
    this.#flags.stop();
    this.#pace.stop();
  }

  /** how full pools are may have changed */
  readonly touched = (): void => {
    // the answer to a write that was under way may come later
    if (this.#isStopped) return;
    const { clock } = this.#context;
    const lastMs = clock.now();
    this.#changedMs = lastMs;
    this.#touched = { firstMs: this.#touched?.firstMs ?? lastMs, lastMs };
    this.#timer ??= clock.startTimer(QUIET_MS, () => this.#due());
  };

  #due(): void {
    const { clock } = this.#context;
    const nowMs = clock.now();
    const { firstMs, lastMs } = this.#touched ?? { firstMs: nowMs, lastMs: nowMs };
    const waitMs = Math.min(lastMs + QUIET_MS, firstMs + LONGEST_WAIT_MS) - nowMs;
    this.#timer = waitMs > 0 ? clock.startTimer(waitMs, () => this.#due()) : undefined;
    if (waitMs <= 0) this.#look();
  }

  #look(): void {
    this.#touched = undefined;
    this.#findOutside();
    this.#findUnconfirmed();
    for (const name of this.#context.caches.pools.items.keys()) this.#pools.add(name);
  }

  /** all claims are looked at, which is cheap at this pace; most are where they belong */
  #findOutside(): void {
    const outside = new Map<string, ClaimRecord[]>();
    const exclusive = new Set<string>();
    for (const claim of this.#world.claims.all) {
      if (this.#isExclusive(claim)) exclusive.add(this.#poolOf(claim) ?? '');
      if (isOutside(claim, this.#world)) append(outside, claim.pool ?? '', claim);
      const { conditions = [] } = this.#context.caches.claims.get(claim.name)?.meta ?? {};
      if (!isToldOf(conditions, inPool(claim, this.#world))) this.#flags.add(claim.name);
    }
    this.#outside = outside;
    this.#exclusive = exclusive;
  }

  /** by its own words; of one that cannot be read by where it is */
  #isExclusive({ name, labels }: ClaimRecord): boolean {
    const document = this.#context.caches.claims.get(name);
    if (document?.ok === false) return !(ANYCAST_LABEL in labels);
    return document?.object.placement?.mode === 'exclusive';
  }

  #poolOf({ pool, address }: ClaimRecord): string | undefined {
    return pool ?? this.#world.book.poolOf(address)?.name;
  }

  /** that a node has been silent for too long nothing tells but time */
  #findUnconfirmed(): void {
    const { claims } = this.#world;
    const poolOf = (claim: ClaimRecord) => this.#poolOf(claim);
    this.#unconfirmed = unconfirmed({ ...this.#releases, released: claims.released, poolOf });
    const { againMs } = this.#unconfirmed;
    this.#againTimer?.cancel();
    this.#againTimer =
      againMs === undefined
        ? undefined
        : this.#context.clock.startTimer(againMs, () => this.#look());
  }

  /** Whether numbers that nothing else is told with may be told now; else there is another look when they may. */
  #mayCount(name: string, changed: number): boolean {
    const { clock } = this.#context;
    const { soonMs, quietMs } = changed <= FEW.atMost ? FEW : MANY;
    const beforeMs = this.#countedMs.get(name) ?? Number.NEGATIVE_INFINITY;
    const calmMs = Math.max(beforeMs + soonMs, this.#changedMs + quietMs);
    const dueMs = Math.min(beforeMs + LATE_MS, calmMs);
    if (dueMs <= clock.now()) return true;
    if (this.#numbers !== undefined && this.#numbers.dueMs <= dueMs) return false;
    this.#numbers?.timer.cancel();
    const timer = clock.startTimer(dueMs - clock.now(), () => {
      this.#numbers = undefined;
      this.#look();
    });
    this.#numbers = { timer, dueMs };
    return false;
  }

  async #writePool(name: string): Promise<QueueOutcome> {
    const document = this.#context.caches.pools.get(name);
    if (document === undefined) return DONE;
    const wanted = this.#statusOf(document);
    const { meta } = document;
    const { total, used, free } = wanted;
    const isCounted =
      meta.status['total'] === total &&
      meta.status['used'] === used &&
      meta.status['free'] === free;
    const changes = this.#changes(meta, wanted.conditions);
    if (isCounted && changes.length === 0) return DONE;
    if (changes.length === 0) {
      const changed = Math.abs(used - (Number(meta.status['used']) || 0));
      if (!this.#mayCount(name, changed)) return DONE;
    }
    await this.#patch(IP_POOLS, meta, { total, used, free, conditions: merged(meta, changes) });
    // what was refused has not been told
    if (changes.length === 0) this.#countedMs.set(name, this.#context.clock.now());
    for (const change of changes) this.#tell('IPPool', meta, change);
    return DONE;
  }

  #statusOf(document: CachedDocument<IpPool>) {
    const { name } = document.meta;
    const refused = this.#world.pools.refused.get(name);
    return poolStatus(document, {
      taken: this.#world.book.takenIn(name),
      ...(refused !== undefined && { refused }),
      outside: this.#outside.get(name) ?? [],
      hasExclusiveClaims: this.#exclusive.has(name),
      ...optional('awaited', this.#unconfirmed.byPool.get(name)),
    });
  }

  async #writeFlag(name: string): Promise<QueueOutcome> {
    const document = this.#context.caches.claims.get(name);
    const address = knownOf(document)?.address;
    const claim = address && this.#world.claims.at(address);
    if (document === undefined || claim === undefined) return DONE;
    await this.#pace.take();
    const wanted = inPool(claim, this.#world);
    if (isToldOf(document.meta.conditions, wanted)) return DONE;
    const changes = this.#changes(document.meta, [wanted]);
    await this.#patch(IP_CLAIMS, document.meta, { conditions: merged(document.meta, changes) });
    for (const change of changes) this.#tell('IPClaim', document.meta, change);
    return DONE;
  }

  #changes(meta: DocumentMeta, wanted: readonly WantedCondition[]): readonly Condition[] {
    const nowMs = this.#context.clock.wallTimeMs();
    return wanted.flatMap((each) => changedCondition(meta.conditions, each, nowMs) ?? []);
  }

  async #patch(resource: Resource, meta: DocumentMeta, status: object): Promise<void> {
    const { name, uid, resourceVersion } = meta;
    const body = { metadata: { uid, resourceVersion }, status };
    try {
      const patch = { kind: 'merge', body } as const;
      await this.#context.api.patch(resource, name, patch, { subresource: 'status' });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #tell(kind: 'IPPool' | 'IPClaim', meta: DocumentMeta, change: Condition): void {
    const before = meta.conditions.find(({ type }) => type === change.type);
    const isFine = FINE.has(change.reason);
    // a new pool that is as it should be is no news
    if (before?.reason === change.reason || (before === undefined && isFine)) return;
    const message = change.message === '' ? `${change.type} is ${change.status}` : change.message;
    const type = isFine ? 'Normal' : 'Warning';
    const object = documentRef(kind, meta);
    this.#context.events.record({ object, type, reason: change.reason, message });
  }
}

function append<K, V>(groups: Map<K, V[]>, group: K, value: V): void {
  const members = groups.get(group);
  if (members === undefined) groups.set(group, [value]);
  else members.push(value);
}

const FINE: ReadonlySet<string> = new Set([
  'Accepted',
  'AddressesFree',
  'AllInside',
  'AllConfirmed',
  'ClaimsAskForIt',
  'NoClaimAsksForIt',
  'Held',
]);

function merged(meta: DocumentMeta, changes: readonly Condition[]): readonly Condition[] {
  return changes.reduce(withCondition, meta.conditions);
}
