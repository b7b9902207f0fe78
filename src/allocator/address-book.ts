/**
 * Which addresses are taken, by whom, and which is the lowest free one of a pool. It is an index over facts that live elsewhere (claims,
 * Services, writes under way) and is built anew from them at start: never itself the truth.
 *
 * An address may be held for several reasons at once (a claim, and the Service that wrote it by hand); it is free when the last has gone.
 */

import { type Address, FAMILIES, type Family } from 'bgp-ts';
import type { IpPool } from '../model/ip-pool.ts';
import { addressNumber, numberedAddress } from './address-number.ts';
import { CoolDown, type CoolDownOptions, NO_COOL_DOWN } from './cool-down.ts';
import { FreeNumbers, type Span } from './free-numbers.ts';
import { PoolSpans, spanSize, spansOf } from './pool-spans.ts';

/**
 * Why an address is not free. `claim`: there is an IPClaim, released ones too. `writing`: this process is about to write one.
 * `external-ip`: a Service lists it in spec.externalIPs. `ingress`: a Service has it in its status. `node`: a Node says that it is its own.
 * `deleted`: somebody deleted its claim, and nodes may still announce it.
 */
export interface Holder {
  readonly kind: 'claim' | 'writing' | 'external-ip' | 'ingress' | 'node' | 'deleted';
  /** `namespace/name`; of a claim, there or deleted, and of a node its own name */
  readonly by: string;
}

/** by the reason; sets, since thousands of Services may list the same address */
type Holders = Map<Holder['kind'], Set<string>>;

interface FamilyPool {
  readonly free: FreeNumbers;
  /** free too, but given out after all others */
  readonly cooling: CoolDown;
  readonly size: bigint;
  taken: number;
}

interface KnownPool {
  readonly pool: IpPool;
  readonly families: Readonly<Record<Family, FamilyPool>>;
}

export class AddressBook {
  readonly #taken: Readonly<Record<Family, Map<bigint, Holders>>> = {
    ipv4: new Map(),
    ipv6: new Map(),
  };
  #pools: ReadonlyMap<string, KnownPool> = new Map();
  #spans: Readonly<Record<Family, PoolSpans>> = {
    ipv4: new PoolSpans([], 'ipv4'),
    ipv6: new PoolSpans([], 'ipv6'),
  };

  readonly #coolDown: CoolDownOptions;

  constructor(coolDown: CoolDownOptions = NO_COOL_DOWN) {
    this.#coolDown = coolDown;
  }

  /** The pools that addresses come from now; none overlaps another. One that has not changed costs nothing. */
  setPools(pools: readonly IpPool[]): void {
    this.#spans = { ipv4: new PoolSpans(pools, 'ipv4'), ipv6: new PoolSpans(pools, 'ipv6') };
    const known = new Map<string, KnownPool>();
    for (const pool of pools) {
      const before = this.#pools.get(pool.name);
      const isSame = before !== undefined && givesTheSame(before.pool, pool);
      const families = isSame
        ? before.families
        : {
            ipv4: this.#familyPool(pool, 'ipv4', before?.families.ipv4),
            ipv6: this.#familyPool(pool, 'ipv6', before?.families.ipv6),
          };
      known.set(pool.name, { pool, families });
    }
    this.#pools = known;
    this.#count();
  }

  /** Harmless where this holder has it already. */
  take(address: Address, holder: Holder): void {
    const { family } = address;
    const number = addressNumber(address);
    const known = this.#taken[family].get(number);
    const holders: Holders = known ?? new Map();
    const ofKind = holders.get(holder.kind) ?? new Set();
    holders.set(holder.kind, ofKind.add(holder.by));
    if (known !== undefined) return;
    this.#taken[family].set(number, holders);
    const pool = this.#familyOf(family, number);
    if (pool === undefined) return;
    pool.taken += 1;
    pool.cooling.remove(number);
  }

  /** True when nobody holds it any more. */
  release(address: Address, holder: Holder): boolean {
    const { family } = address;
    const number = addressNumber(address);
    const holders = this.#taken[family].get(number);
    if (holders === undefined) return false;
    const ofKind = holders.get(holder.kind);
    ofKind?.delete(holder.by);
    if (ofKind?.size === 0) holders.delete(holder.kind);
    if (holders.size > 0) return false;
    this.#taken[family].delete(number);
    const pool = this.#familyOf(family, number);
    if (pool !== undefined) {
      pool.taken -= 1;
      // nobody ever had what was only about to be written
      const isCooling = holder.kind !== 'writing' && pool.cooling.put(number);
      if (!isCooling) pool.free.giveBack(number);
    }
    return true;
  }

  /** The first one but for `by`, by the order of `kinds`: thousands may hold the same address, and this takes two steps for each kind. */
  otherThan(by: string, address: Address, kinds: readonly Holder['kind'][]): Holder | undefined {
    const holders = this.#taken[address.family].get(addressNumber(address));
    for (const kind of kinds) {
      for (const other of holders?.get(kind) ?? []) if (other !== by) return { kind, by: other };
    }
    return undefined;
  }

  /** how many hold it for this reason */
  countOf(address: Address, kind: Holder['kind']): number {
    return this.#taken[address.family].get(addressNumber(address))?.get(kind)?.size ?? 0;
  }

  /** the pool that may give it out, free or not */
  poolOf(address: Address): IpPool | undefined {
    const name = this.#spans[address.family].poolOf(addressNumber(address));
    return name === undefined ? undefined : this.#pools.get(name)?.pool;
  }

  pool(name: string): IpPool | undefined {
    return this.#pools.get(name)?.pool;
  }

  /** The lowest that nobody has had a short while ago; where there is none, the one that came back first. */
  lowestFree(pool: string, family: Family): Address | undefined {
    const known = this.#pools.get(pool)?.families[family];
    if (known === undefined) return undefined;
    for (const number of known.cooling.over()) known.free.giveBack(number);
    const number = known.free.lowest() ?? known.cooling.first;
    return number === undefined ? undefined : numberedAddress(family, number);
  }

  /** whether the pool has addresses of this family at all */
  hasFamily(pool: string, family: Family): boolean {
    return (this.#pools.get(pool)?.families[family].size ?? 0n) > 0n;
  }

  freeIn(pool: string, family: Family): bigint {
    const known = this.#pools.get(pool)?.families[family];
    return known === undefined ? 0n : known.size - BigInt(known.taken);
  }

  /** how many of its addresses are not free, for whatever reason */
  takenIn(pool: string): number {
    const known = this.#pools.get(pool);
    return known === undefined ? 0 : known.families.ipv4.taken + known.families.ipv6.taken;
  }

  #familyPool(pool: IpPool, family: Family, before: FamilyPool | undefined): FamilyPool {
    const spans = spansOf(pool, family);
    const taken = this.#taken[family];
    const known = before?.cooling ?? new CoolDown(this.#coolDown);
    const cooling = known.only((number) => spans.some((span) => isWithin(span, number)));
    const free = new FreeNumbers(spans, (number) => taken.has(number) || cooling.has(number));
    return { free, cooling, size: spanSize(spans), taken: 0 };
  }

  #familyOf(family: Family, number: bigint): FamilyPool | undefined {
    const name = this.#spans[family].poolOf(number);
    return name === undefined ? undefined : this.#pools.get(name)?.families[family];
  }

  #count(): void {
    for (const { families } of this.#pools.values()) {
      families.ipv4.taken = 0;
      families.ipv6.taken = 0;
    }
    for (const family of FAMILIES) {
      for (const number of this.#taken[family].keys()) {
        const pool = this.#familyOf(family, number);
        if (pool !== undefined) pool.taken += 1;
      }
    }
  }
}

function isWithin({ first, last }: Span, number: bigint): boolean {
  return first <= number && number <= last;
}

function givesTheSame(a: IpPool, b: IpPool): boolean {
  return (
    a.avoidFirstLast === b.avoidFirstLast &&
    a.ranges.length === b.ranges.length &&
    a.ranges.every(({ text }, index) => text === b.ranges[index]?.text)
  );
}
