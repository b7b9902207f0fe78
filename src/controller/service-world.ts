/**
 * The world in which Services are decided on: caches, indexes over them, and what this process has just written. It says which Services
 * have to be looked at again; it decides nothing and writes nothing.
 */

import { type Address, addressKey } from 'bgp-ts';
import { AddressBook, type Holder } from '../allocator/address-book.ts';
import { ClaimIndex, namespacesOf } from '../allocator/claim-index.ts';
import type { ClaimRecord } from '../allocator/claim-record.ts';
import type { ReachOf } from '../allocator/claim-writes.ts';
import type { CoolDownOptions } from '../allocator/cool-down.ts';
import { claimedAddresses, reservedAddresses } from '../allocator/decide-external.ts';
import { asksForAddress, type World } from '../allocator/decision.ts';
import { type PoolChoice, poolChoice } from '../allocator/pool-choice.ts';
import type { ServiceRequest } from '../allocator/service-request.ts';
import { hasSameTerms } from '../allocator/share-terms.ts';
import { oldestFirst, Waiting, type Wish } from '../allocator/waiting.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import type { Labels } from '../model/labels.ts';
import { type Service, serviceKey } from '../model/service.ts';
import { isNewer } from '../sources/kube/object-key.ts';
import { Slices } from '../turns/slices.ts';
import type { CachedDocument } from './cached-document.ts';
import type { ControllerCaches } from './caches.ts';
import { claimRecord } from './claim-records.ts';
import { EndpointCounts } from './endpoint-counts.ts';
import { GoneServices } from './gone-services.ts';
import { Holds } from './holds.ts';
import { ListedAddresses } from './listed-addresses.ts';
import { changesPools, NamespaceEdits } from './namespace-edits.ts';
import { isSamePool, PoolRegister } from './pool-register.ts';
import { PoolWakes } from './pool-wakes.ts';
import { ownOf, type Reserved, reservedKey, toldOf } from './reserved.ts';
import { WaitsSince } from './waits-since.ts';
import type { WorldListener } from './world-listener.ts';

/** A tenant that lists addresses of others and takes them out again, over and over, would have each of these Services written as often. */
const UNLISTED_MS = 10_000;

export class ServiceWorld {
  readonly book: AddressBook;
  readonly claims = new ClaimIndex();
  readonly waiting = new Waiting();
  readonly gone = new GoneServices();
  readonly #caches: ControllerCaches;
  readonly #listener: WorldListener;
  readonly #isDefaultClass: boolean;
  readonly #register = new PoolRegister();
  readonly #endpoints = new EndpointCounts();
  readonly #listed: ListedAddresses;
  readonly #slices = new Slices('deciding');
  readonly #namespaceEdits = new NamespaceEdits((name) => this.#listed.again(name));
  readonly #since: WaitsSince;
  readonly #wakes: PoolWakes;
  /** Services as our own writes left them, until the watch has seen as much */
  readonly #written = new Map<string, Service>();
  readonly #holds = new Holds(() => this.#pools.inOrder);
  /** claims that somebody deleted, by address, while nodes may announce them */
  readonly #deleted = new Map<string, ClaimRecord>();
  readonly #ends: (() => void)[] = [];
  #pools: PoolChoice = poolChoice([]);
  #isAgainDue = false;

  constructor(
    caches: ControllerCaches,
    options: {
      readonly isDefaultClass: boolean;
      readonly listener: WorldListener;
      readonly coolDown?: CoolDownOptions;
      readonly wallTimeMs: () => number;
    },
  ) {
    this.#since = new WaitsSince(options.wallTimeMs);
    this.book = new AddressBook(options.coolDown);
    this.#caches = caches;
    this.#isDefaultClass = options.isDefaultClass;
    this.#listener = options.listener;
    this.#wakes = new PoolWakes(this.book, this.waiting, (key) => this.#listener.due(key));
    this.#listed = new ListedAddresses({
      isInPool: (address) => this.book.poolOf(address) !== undefined,
      reservedFor: (service, listed) => reservedAddresses(service, this.world, listed),
      claimedBy: (service) => claimedAddresses(service, this.claims),
      take: (address, by) => this.book.take(address, { kind: 'external-ip', by }),
      release: (address, by) => this.#release(address, { kind: 'external-ip', by }),
      due: (key) => this.#listener.due(key),
      later: (job) => this.#slices.add(job),
      touched: (address, isListed) => {
        for (const entry of this.claims.at(address)?.services ?? []) {
          this.#listener.due(serviceKey(entry), isListed ? 0 : UNLISTED_MS);
        }
      },
    });
  }

  /**
   * Takes in all that the caches have, which must have synced, and follows them from then on. Everything is due then: whoever a claim names,
   * there or not, and after them the oldest first.
   */
  start(): void {
    const { endpointSlices, claims, pools, nodes } = this.#caches;
    for (const slice of endpointSlices.items.values()) this.#endpoints.change(slice, undefined);
    for (const document of claims.items.values()) this.#putClaim(document);
    for (const node of nodes.items.values()) this.#reserve(ownOf(node), []);
    this.#setPools(pools.items.values());
    this.#subscribe();
    this.#slices.add(this.#begin());
  }

  /** Until then nobody is to be given an address: what Services list is not known yet, or not in pools that have changed. */
  get untilKnown(): Promise<void> | undefined {
    return this.#slices.untilDone;
  }

  stop(): void {
    this.#slices.stop();
    this.#namespaceEdits.stop();
    for (const end of this.#ends) end();
    this.#ends.length = 0;
  }

  /** One that changes meanwhile is taken in twice, which is harmless. */
  *#begin(): Generator<number, void> {
    const { services } = this.#caches;
    this.#listed.begin();
    const some = [...services.items.values()].filter(
      ({ externalIps, ingress }) => externalIps.length + ingress.length > 0,
    );
    for (const key of oldestFirst(some)) {
      const service = services.get(key);
      if (service === undefined) continue;
      this.#reserve(toldOf(service), []);
      this.#listed.change(key, service);
      yield 1 + service.externalIps.length;
    }
    yield* this.#listed.admit();
    this.#allDue();
  }

  *#poolsAgain(): Generator<number, void> {
    this.#isAgainDue = false;
    yield* this.#listed.again();
    this.#allDue();
  }

  readonly service = (key: string): Service | undefined => {
    const cached = this.#caches.services.get(key);
    const written = this.#written.get(key);
    const isAhead =
      written !== undefined && written.uid === cached?.uid && isNewer(written, cached);
    return isAhead ? written : cached;
  };

  readonly reachOf: ReachOf = (key, family) => {
    const service = this.service(key);
    if (service?.isLocal === true && service.healthCheckNodePort !== undefined) return 'local';
    if (!this.#caches.endpointSlices.hasSynced) return 'unknown';
    return this.#endpoints.of(key, family) > 0 ? 'some' : 'none';
  };

  get pools(): PoolChoice {
    return this.#pools;
  }

  get world(): World {
    return {
      book: this.book,
      claims: this.claims,
      pools: this.#pools,
      waiting: this.waiting,
      isDefaultClass: this.#isDefaultClass,
      service: this.service,
      namespaceLabels: this.#namespaceLabels,
      addressesOf: (namespace) => this.#addressesOf(namespace),
      listersOf: (address) => this.#listed.listersOf(address),
      isListBeyond: (service) => this.#listed.isBeyond(service),
      deletedAt: (address) => this.#deleted.get(addressKey(address)),
      waitsSince: (service) => this.#since.of(service),
      isShareBusy: (word, key) => this.#holds.isShareBusy(word, key),
    };
  }

  readonly #namespaceLabels = (name: string): Labels | undefined =>
    this.#caches.namespaces.get(name)?.labels;

  /** what is about to be written counts, too: of two that are decided on at once the second one sees the first */
  *#addressesOf(namespace: string): Iterable<Address> {
    for (const { address } of this.claims.ofNamespace(namespace)) yield address;
    yield* this.#holds.addressesOf(namespace);
  }

  /** Nobody else gets these addresses from here until `letGo`. */
  hold(key: string, addresses: readonly Address[], request: ServiceRequest | undefined): void {
    this.letGo(key);
    if (addresses.length === 0) return;
    this.#holds.set(key, addresses, request);
    for (const address of addresses) this.book.take(address, { kind: 'writing', by: key });
  }

  /** what was held; empty: nothing was */
  letGo(key: string): readonly Address[] {
    const hold = this.#holds.take(key);
    if (hold === undefined) return [];
    for (const address of hold.addresses) this.#release(address, { kind: 'writing', by: key });
    if (hold.word !== undefined) {
      for (const waiting of this.waiting.forShare(hold.word)) {
        if (this.#holds.mayShare(key, waiting)) this.#listener.due(waiting);
      }
    }
    return hold.addresses;
  }

  /** the answer to a write of ours, or to a GET */
  learned(claim: ClaimRecord): void {
    this.#takeIn(claim);
  }

  /** GET says that there is none */
  learnedGone(claim: Pick<ClaimRecord, 'address' | 'uid' | 'name'>): void {
    const known = this.claims.at(claim.address);
    const isGone = this.claims.remove(claim);
    if (isGone && known !== undefined) {
      this.#shareFreed(namespacesOf(known));
      this.#servicesDue(known);
    }
    if (isGone) this.#release(claim.address, { kind: 'claim', by: claim.name });
  }

  wrote(service: Service): void {
    const key = serviceKey(service);
    const cached = this.#caches.services.get(key);
    if (cached !== undefined && isNewer(service, cached)) this.#written.set(key, service);
  }

  wait(key: string, wish: Wish | undefined): void {
    const before = this.waiting.wishOf(key);
    this.waiting.remove(key);
    this.#holds.wait(key, wish?.shareKey !== undefined);
    if (wish !== undefined) this.waiting.put(wish);
    // those that came later stood back for it; what it no longer waits for may be theirs, also where it took nothing
    for (const { pool, family } of before?.pools ?? []) {
      const isStill = wish?.pools.some((each) => each.pool === pool && each.family === family);
      if (isStill !== true) this.#poolFreed(pool);
    }
  }

  #subscribe(): void {
    const caches = this.#caches;
    this.#ends.push(
      caches.subscribe('services', (key, now, before) => this.#serviceChanged(key, now, before)),
      caches.subscribe('claims', (_, now, before) => this.#claimChanged(now, before)),
      caches.subscribe('nodes', (_, now, before) => {
        const isSame = now?.addresses.join() === before?.addresses.join();
        if (!isSame) this.#reserve(ownOf(now), ownOf(before));
      }),
      caches.subscribe('endpointSlices', (_, now, before) => {
        for (const key of this.#endpoints.change(now, before)) {
          if (this.claims.ofService(key).length > 0) this.#listener.due(key);
        }
      }),
      caches.subscribe('pools', (_, now, before) => {
        if (isSamePool(now, before)) return;
        this.#setPools(caches.pools.items.values());
        // several edits are looked at together where the first is not begun yet
        if (this.#isAgainDue) return;
        this.#isAgainDue = true;
        this.#slices.add(this.#poolsAgain());
      }),
      caches.subscribe('namespaces', (name, now, before) => {
        const labels = { now: now?.labels, before: before?.labels };
        if (!changesPools(this.#pools.inOrder, name, labels)) return;
        for (const key of this.waiting.keysOf(name)) this.#listener.due(key);
        this.#namespaceEdits.add(name);
      }),
    );
  }

  #setPools(documents: Iterable<CachedDocument<IpPool>>): void {
    this.#pools = this.#register.choose(documents);
    this.book.setPools(this.#pools.inOrder);
    this.#listener.poolsTouched();
  }

  /** the oldest first */
  #allDue(): void {
    const ours = [...this.#caches.services.items.values()].filter((service) =>
      this.#concerns(service),
    );
    for (const key of oldestFirst(ours)) this.#listener.due(key);
    for (const { name } of this.claims.released) this.#listener.releaseTouched(name);
  }

  /** thousands of Services want nothing of us */
  #concerns(service: Service): boolean {
    return asksForAddress(service) || this.claims.ofService(serviceKey(service)).length > 0;
  }

  #serviceChanged(key: string, now: Service | undefined, before: Service | undefined): void {
    const written = this.#written.get(key);
    if (written !== undefined && this.service(key) !== written) this.#written.delete(key);
    if (before !== undefined && before.uid !== now?.uid) this.gone.add(before.uid);
    this.#since.changed(key, now, before);
    this.#reserve(now && toldOf(now), before && toldOf(before));
    this.#listed.change(key, now);
    const isOfInterest = [now, before].some((each) => each !== undefined && this.#concerns(each));
    if (isOfInterest || this.claims.ofService(key).length > 0) this.#listener.due(key);
    this.#termsChanged(key, now, before);
  }

  /** Who may share an address with it, or have it, is looked at where that may be another answer now. */
  #termsChanged(key: string, now: Service | undefined, before: Service | undefined): void {
    const claims = this.claims
      .ofService(key)
      .filter(({ address, services }) => services.length > 1 || this.waiting.isWanted(address));
    if (claims.length === 0 || hasSameTerms(now, before)) return;
    for (const { address, services } of claims) {
      this.#touched(address);
      // who shares with it perhaps cannot any more
      if (now === undefined || before === undefined) continue;
      for (const entry of services) this.#listener.due(serviceKey(entry));
    }
  }

  /** what a Service lists, or has in its status, is nobody else's; nor is what a node has */
  #reserve(is: readonly Reserved[] = [], was: readonly Reserved[] = []): void {
    for (const { address, holder } of is) this.book.take(address, holder);
    const still = new Set(is.map(reservedKey));
    for (const each of was) {
      if (!still.has(reservedKey(each))) this.#release(each.address, each.holder);
    }
  }

  #claimChanged(
    now: CachedDocument<IpClaim> | undefined,
    before: CachedDocument<IpClaim> | undefined,
  ): void {
    if (now !== undefined) this.#putClaim(now);
    const record = now === undefined && before ? claimRecord(before) : undefined;
    if (record !== undefined) this.learnedGone(record);
  }

  #servicesDue({ services }: ClaimRecord): void {
    for (const key of services.map(serviceKey)) {
      this.#listed.claimsChanged(key);
      this.#listener.due(key);
    }
  }

  #putClaim(document: CachedDocument<IpClaim>): void {
    const record = claimRecord(document);
    if (record !== undefined) this.#takeIn(record);
  }

  #takeIn(record: ClaimRecord): void {
    const { before, isStale } = this.claims.put(record);
    if (isStale) return;
    this.book.take(record.address, { kind: 'claim', by: record.name });
    this.#servicesDue(record);
    if (before !== undefined) {
      this.#servicesDue(before);
      const still = namespacesOf(record);
      this.#shareFreed([...namespacesOf(before)].filter((name) => !still.has(name)));
    }
    if (record.services.length === 0) this.#listener.releaseTouched(record.name);
    this.#touched(record.address);
    this.#listener.poolsTouched();
  }

  /** Its claim is gone; while nodes may announce it nobody gets the address but whose it was. */
  setDeleted(claim: ClaimRecord, isKept: boolean): void {
    const { address, name } = claim;
    const holder = { kind: 'deleted', by: name } as const;
    if (isKept) {
      this.#deleted.set(addressKey(address), claim);
      this.book.take(address, holder);
    } else {
      this.#deleted.delete(addressKey(address));
      this.#release(address, holder);
    }
  }

  #release(address: Address, holder: Holder): void {
    const isFree = this.book.release(address, holder);
    // of thousands that list it the last two matter: one of them may be who waits for it
    if (this.book.countOf(address, holder.kind) <= 1) this.#touched(address);
    if (!isFree) return;
    const pool = this.book.poolOf(address)?.name;
    if (pool !== undefined) this.#poolFreed(pool);
  }

  #touched(address: Address): void {
    for (const key of this.waiting.forAddress(address)) this.#listener.due(key);
  }

  /** Services of these namespaces have an address less */
  #shareFreed(namespaces: Iterable<string>): void {
    for (const name of namespaces) {
      for (const key of this.waiting.forLimit(name)) this.#listener.due(key);
    }
  }

  #poolFreed(pool: string): void {
    this.#wakes.freed(pool);
    this.#listener.poolsTouched();
  }
}
