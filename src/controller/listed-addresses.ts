/**
 * What Services list in spec.externalIPs: who lists an address, and for whom it is reserved, which changes with pools and namespaces. An index over
 * the cache of Services; it decides nothing.
 *
 * Who lists what is known of all of them. Reserved and announced are MOST_LISTED of a namespace, in the order in which they came: who may edit
 * Services of one namespace writes what memory and turns of the controller go by (docs/decisions/0069).
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
  readonly take: (address: Address, by: string) => void;
  readonly release: (address: Address, by: string) => void;
  /** somebody began to list it, or ceased to */
  readonly touched: (address: Address, isListed: boolean) => void;
  /** its list has become too much for its namespace, or is so no more */
  readonly due: (key: string) => void;
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
  /** Services whose lists are too much, in the order in which they came */
  readonly beyond: Set<string>;
}

export class ListedAddresses {
  readonly #options: ListedOptions;
  readonly #listers = new Map<string, Lister>();
  readonly #entries = new Map<string, Entry>();
  /** by namespace */
  readonly #shares = new Map<string, Share>();

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
    const before = this.#listers.get(key);
    const lists = service !== undefined && service.externalIps.length > 0;
    if (before === undefined && !lists) return;
    const { namespace } = service ?? before?.service ?? { namespace: '' };
    const share = this.#shares.get(namespace) ?? { counted: 0, beyond: new Set() };
    this.#shares.set(namespace, share);
    share.counted -= before?.counted ?? 0;
    const now = lists ? this.#lister(key, service, share) : undefined;
    share.counted += now?.counted ?? 0;
    if (now === undefined) share.beyond.delete(key);
    this.#replace(key, before, now);
    this.#admit(share);
    if (share.counted === 0 && share.beyond.size === 0) this.#shares.delete(namespace);
  }

  /** Pools have changed, or the labels of a namespace have. Its steps are for Slices. */
  *again(namespace?: string): Generator<number, void> {
    for (const key of [...this.#listers.keys()]) {
      // it may have changed since, or have gone
      const lister = this.#listers.get(key);
      if (lister === undefined) continue;
      if (namespace !== undefined && lister.service.namespace !== namespace) continue;
      this.change(key, lister.service);
      yield 1 + lister.listed.length;
    }
  }

  #lister(key: string, service: Service, { counted, beyond }: Share): Lister {
    const { isInPool, reservedFor, due } = this.#options;
    const listed = externalAddresses(service).map((address) => this.#entry(address));
    const count = listed.filter(({ address }) => isInPool(address)).length;
    const isBeyond = count > 0 && counted + count > MOST_LISTED;
    if (isBeyond !== beyond.has(key)) due(key);
    if (isBeyond) {
      beyond.add(key);
      return { service, listed, reserved: [], counted: 0 };
    }
    beyond.delete(key);
    const reserved = reservedFor(
      service,
      listed.map(({ address }) => address),
    );
    return { service, listed, reserved, counted: count };
  }

  /** There may be room now: the first ones, as far as it goes. */
  #admit(share: Share): void {
    for (const key of share.beyond) {
      const lister = this.#listers.get(key);
      if (lister === undefined || share.counted >= MOST_LISTED) return;
      const now = this.#lister(key, lister.service, share);
      if (share.beyond.has(key)) return;
      share.counted += now.counted;
      this.#replace(key, lister, now);
    }
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
