/**
 * Services that have not got all they want, the oldest first. Who waits for a pool comes before who came later; what frees up
 * wakes only those that it may help. An index that is built again at start, since every Service is looked at then.
 */

import { type Address, addressKey, type Family } from 'bgp-ts';
import { type Service, serviceKey } from '../model/service.ts';

export interface Wish {
  /** `namespace/name` */
  readonly key: string;
  /** when it was made, or made one that waits */
  readonly createdMs: number;
  /** from any of these pools */
  readonly pools: readonly { readonly pool: string; readonly family: Family }[];
  /** this very address */
  readonly addresses: readonly Address[];
  /** whatever comes of a write that another Service with this word has under way */
  readonly shareKey?: string;
  /** an address that Services of this namespace give back */
  readonly limitOf?: string;
}

export class Waiting {
  /** in order of age */
  readonly #wishes: Wish[] = [];
  readonly #byKey = new Map<string, Wish>();
  readonly #byAddress = new Map<string, Set<string>>();
  readonly #byShare = new Map<string, Set<string>>();
  readonly #byLimit = new Map<string, Set<string>>();

  get size(): number {
    return this.#wishes.length;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  wishOf(key: string): Wish | undefined {
    return this.#byKey.get(key);
  }

  put(wish: Wish): void {
    this.remove(wish.key);
    this.#byKey.set(wish.key, wish);
    this.#wishes.splice(this.#placeOf(wish), 0, wish);
    for (const address of wish.addresses) join(this.#byAddress, addressKey(address), wish.key);
    if (wish.shareKey !== undefined) join(this.#byShare, wish.shareKey, wish.key);
    if (wish.limitOf !== undefined) join(this.#byLimit, wish.limitOf, wish.key);
  }

  remove(key: string): void {
    const wish = this.#byKey.get(key);
    if (wish === undefined) return;
    this.#byKey.delete(key);
    this.#wishes.splice(this.#placeOf(wish), 1);
    for (const address of wish.addresses) part(this.#byAddress, addressKey(address), key);
    if (wish.shareKey !== undefined) part(this.#byShare, wish.shareKey, key);
    if (wish.limitOf !== undefined) part(this.#byLimit, wish.limitOf, key);
  }

  /** all of them, the oldest first */
  get keys(): readonly string[] {
    return this.#wishes.map(({ key }) => key);
  }

  /** those of one namespace, the oldest first */
  keysOf(namespace: string): readonly string[] {
    return this.keys.filter((key) => key.startsWith(`${namespace}/`));
  }

  /** the first `count` that an address of this pool would help, the oldest first */
  forPool(pool: string, family: Family, count: bigint): readonly string[] {
    const keys: string[] = [];
    for (const wish of this.#wishes) {
      if (BigInt(keys.length) >= count) break;
      if (wants(wish, pool, family)) keys.push(wish.key);
    }
    return keys;
  }

  isWanted(address: Address): boolean {
    return this.#byAddress.has(addressKey(address));
  }

  forAddress(address: Address): Iterable<string> {
    return this.#byAddress.get(addressKey(address)) ?? [];
  }

  forShare(word: string): Iterable<string> {
    return this.#byShare.get(word) ?? [];
  }

  /** those that their namespace's share of a pool keeps waiting, the oldest first */
  forLimit(namespace: string): readonly string[] {
    const keys = this.#byLimit.get(namespace);
    return keys === undefined ? [] : this.keys.filter((key) => keys.has(key));
  }

  /** True when those that wait longer for the same leave something of the `free` ones over for this Service. */
  leavesOver(
    from: { readonly pool: string; readonly family: Family },
    free: bigint,
    who: Pick<Wish, 'key' | 'createdMs'>,
  ): boolean {
    let older = 0n;
    for (const wish of this.#wishes) {
      if (older >= free || !isBefore(wish, who)) break;
      if (wants(wish, from.pool, from.family)) older += 1n;
    }
    return older < free;
  }

  #placeOf(wish: Wish): number {
    let low = 0;
    let high = this.#wishes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#wishes[middle];
      if (other !== undefined && isBefore(other, wish)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Older first; of two of the same second the first by name. */
export function isBefore(
  a: Pick<Wish, 'key' | 'createdMs'>,
  b: Pick<Wish, 'key' | 'createdMs'>,
): boolean {
  return a.createdMs < b.createdMs || (a.createdMs === b.createdMs && a.key < b.key);
}

export function oldestFirst(services: readonly Service[]): readonly string[] {
  return services
    .map((service) => ({ key: serviceKey(service), createdMs: service.createdMs }))
    .toSorted((a, b) => (isBefore(a, b) ? -1 : 1))
    .map(({ key }) => key);
}

function wants(wish: Wish, pool: string, family: Family): boolean {
  return wish.pools.some((each) => each.pool === pool && each.family === family);
}

function join(groups: Map<string, Set<string>>, group: string, key: string): void {
  const members = groups.get(group);
  if (members === undefined) groups.set(group, new Set([key]));
  else members.add(key);
}

function part(groups: Map<string, Set<string>>, group: string, key: string): void {
  const members = groups.get(group);
  members?.delete(key);
  if (members?.size === 0) groups.delete(group);
}
