/**
 * What Services list in spec.externalIPs: who lists an address, and for whom it is reserved, which changes with pools and namespaces. An index over
 * the cache of Services; it decides nothing.
 *
 * Who lists what is known of all of them. Reserved and announced are MOST_LISTED of a namespace, in the order in which they came: who may edit
 * Services of one namespace writes what memory and turns of the controller go by (docs/decisions/0069).
 * A Service whose list is too much counts with what it has claims for, which stays announced:
 * nobody else gets these places.
 */

import { type Address, addressKey } from 'bgp-ts';
import { MAX_SERVICES } from '../allocator/claim-record.ts';
import { MOST_LISTED } from '../allocator/limits.ts';
import { externalAddresses } from '../allocator/service-request.ts';
import type { Service } from '../model/service.ts';

export interface ListedOptions {
  readonly isInPool: (address: Address) => boolean;
  /** of what it lists */
  readonly reservedFor: (service: Service, listed: readonly Address[]) => readonly Address[];
  /** what it has claims for */
  readonly claimedBy: (service: Service) => readonly Address[];
  readonly take: (address: Address, by: string) => void;
  readonly release: (address: Address, by: string) => void;
  /** somebody began to list it, or ceased to */
  readonly touched: (address: Address, isListed: boolean) => void;
  /** its list has become too much for its namespace, or is so no more */
  readonly due: (key: string) => void;
  /** a job for Slices: what became free may go to thousands of Services, one at a step */
  readonly later: (job: Generator<number, void>) => void;
}

/** one for all that list it: thousands may */
interface Entry {
  readonly id: string;
  readonly address: Address;
  readonly keys: Set<string>;
}

interface Lister {
  readonly service: Service;
  readonly listed: readonly Entry[];
  readonly reserved: readonly Address[];
  /** how much of what its namespace may list it takes up */
  readonly counted: number;
}

interface Share {
  counted: number;
  /** all that list something */
  readonly keys: Set<string>;
  /** Services whose lists are too much, in the order in which they came */
  readonly beyond: Set<string>;
  /** those that are beyond are being admitted, or soon will be */
  isAdmitting: boolean;
}

export class ListedAddresses {
  readonly #options: ListedOptions;
  readonly #listers = new Map<string, Lister>();
  readonly #entries = new Map<string, Entry>();
  /** by namespace */
  readonly #shares = new Map<string, Share>();
  #isBeginning = false;

  constructor(options: ListedOptions) {
    this.#options = options;
  }

  listersOf(address: Address): Iterable<string> {
    return this.#entries.get(addressKey(address))?.keys ?? [];
  }

  /** The list of this Service is too much for its namespace: it is neither reserved nor announced. */
  isBeyond({ namespace, name }: Pick<Service, 'namespace' | 'name'>): boolean {
    return this.#shares.get(namespace)?.beyond.has(`${namespace}/${name}`) === true;
  }

  change(key: string, service: Service | undefined): void {
    const lists = service !== undefined && service.externalIps.length > 0;
    const { namespace } = service ?? this.#listers.get(key)?.service ?? { namespace: '' };
    const share = this.#shares.get(namespace) ?? newShare();
    if (!lists && !share.keys.has(key)) return;
    this.#shares.set(namespace, share);
    this.#put(key, lists ? service : undefined, share);
    if (share.keys.size === 0) this.#shares.delete(namespace);
    if (share.isAdmitting || !this.#hasRoom(share)) return;
    share.isAdmitting = true;
    this.#options.later(this.#admit(share));
  }

  /** It has a claim less, or one more. */
  claimsChanged(key: string): void {
    const service = this.#listers.get(key)?.service;
    if (service !== undefined && this.isBeyond(service)) this.change(key, service);
  }

  /**
   * Until `admit` all count with what they have claims for: otherwise the first ones would take the
   * places of others that are announced.
   */
  begin(): void {
    this.#isBeginning = true;
  }

  /** Its steps are for Slices. */
  *admit(): Generator<number, void> {
    this.#isBeginning = false;
    yield* this.again();
  }

  /** Pools have changed, or the labels of a namespace have. Its steps are for Slices. */
  *again(namespace?: string): Generator<number, void> {
    const keys = namespace === undefined ? this.#listers : this.#shares.get(namespace)?.keys;
    for (const key of [...(keys?.keys() ?? [])]) {
      // it may have changed since, or have gone
      const lister = this.#listers.get(key);
      const share = lister && this.#shares.get(lister.service.namespace);
      if (lister === undefined || share === undefined) continue;
      this.#put(key, lister.service, share);
      yield costOf(lister);
      yield* this.#admit(share);
    }
  }

  #put(key: string, service: Service | undefined, share: Share): void {
    const before = this.#listers.get(key);
    share.counted -= before?.counted ?? 0;
    const now = service && this.#lister(key, service, share);
    share.counted += now?.counted ?? 0;
    if (now === undefined) {
      share.keys.delete(key);
      share.beyond.delete(key);
    } else share.keys.add(key);
    this.#replace(key, before, now);
  }

  #lister(key: string, service: Service, share: Share): Lister {
    const { counted, beyond } = share;
    const { isInPool, reservedFor, claimedBy, due } = this.#options;
    const addresses = externalAddresses(service);
    const listed = addresses.map((address) => this.#entry(address));
    const claimed = new Set(claimedBy(service).map(addressKey));
    const kept = addresses.filter((address) => claimed.has(addressKey(address)));
    const some = addresses.filter(
      (address) => isInPool(address) || claimed.has(addressKey(address)),
    );
    // who comes while others are being admitted stands behind these
    const isClosed = this.#isBeginning || (share.isAdmitting && !this.#listers.has(key));
    const isMore = isClosed || counted + some.length > MOST_LISTED;
    const isBeyond = some.length > kept.length && isMore;
    if (isBeyond !== beyond.has(key) && !this.#isBeginning) due(key);
    if (isBeyond) beyond.add(key);
    else beyond.delete(key);
    const reserved = reservedFor(service, isBeyond ? kept : addresses);
    return { service, listed, reserved, counted: (isBeyond ? kept : some).length };
  }

  #hasRoom({ beyond, counted }: Share): boolean {
    return !this.#isBeginning && beyond.size > 0 && counted < MOST_LISTED;
  }

  /**
   * There may be room now: the first ones, as far as it goes. One at a step: where their pool has gone none of them takes a place any
   * more, and all leave the line.
   */
  *#admit(share: Share): Generator<number, void> {
    share.isAdmitting = true;
    for (const key of share.beyond) {
      const lister = this.#listers.get(key);
      if (lister === undefined || !this.#hasRoom(share)) break;
      this.#put(key, lister.service, share);
      const isFull = share.beyond.has(key);
      // what becomes free from here on is for another job
      if (isFull) share.isAdmitting = false;
      yield costOf(lister);
      if (isFull) return;
    }
    share.isAdmitting = false;
  }

  #replace(key: string, before: Lister | undefined, now: Lister | undefined): void {
    if (now === undefined) this.#listers.delete(key);
    else this.#listers.set(key, now);
    for (const entry of now?.listed ?? []) this.#list(key, entry);
    const listed = new Set(now?.listed);
    for (const entry of before?.listed ?? []) if (!listed.has(entry)) this.#unlist(key, entry);
    for (const address of now?.reserved ?? []) this.#options.take(address, key);
    const reserved = new Set(now?.reserved.map(addressKey));
    for (const address of before?.reserved ?? []) {
      if (!reserved.has(addressKey(address))) this.#options.release(address, key);
    }
  }

  #entry(address: Address): Entry {
    const id = addressKey(address);
    const entry = this.#entries.get(id) ?? { id, address, keys: new Set() };
    this.#entries.set(id, entry);
    return entry;
  }

  #list(key: string, { address, keys }: Entry): void {
    if (keys.has(key)) return;
    // where more list it than a claim has Services, those that have it know of one of them
    const isNews = keys.size <= MAX_SERVICES;
    keys.add(key);
    if (isNews) this.#options.touched(address, true);
  }

  #unlist(key: string, { id, address, keys }: Entry): void {
    keys.delete(key);
    if (keys.size === 0) this.#entries.delete(id);
    if (keys.size <= MAX_SERVICES) this.#options.touched(address, false);
  }
}

function newShare(): Share {
  return { counted: 0, keys: new Set(), beyond: new Set(), isAdmitting: false };
}

function costOf({ listed }: Lister): number {
  return 1 + listed.length;
}
