/**
 * Which routes a router shall take from the nodes: host routes inside the pools, and nothing else. A pool's range that is no CIDR is
 * split into the fewest CIDRs that cover it exactly, so a router's list never holds an address that the pool does not.
 *
 * An aggregate is accepted only where a pool advertises one to this peer, and then at exactly its length.
 */

import { type Address, type Family, formatPrefix, maskPrefix, type Prefix } from 'bgp-ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { AddressRange, Advertisement, IpPool } from '../model/ip-pool.ts';
import { selects } from '../model/labels.ts';

/** Routes of exactly `length` bits inside `prefix`. */
export interface AcceptedRoutes {
  readonly family: Family;
  /** as text, like 192.0.2.0/24 */
  readonly prefix: string;
  readonly prefixLength: number;
  readonly length: number;
  readonly pool: string;
}

const BITS = { ipv4: 32, ipv6: 128 } as const;

/** What this peer may hear, in the order of the pools; the same CIDR in two pools is named once. */
export function acceptedRoutes(peer: BgpPeer, pools: readonly IpPool[]): readonly AcceptedRoutes[] {
  const found = new Map<string, AcceptedRoutes>();
  for (const pool of pools) {
    for (const route of routesOfPool(peer, pool)) {
      const key = `${route.prefix} ${route.length}`;
      if (!found.has(key)) found.set(key, route);
    }
  }
  return [...found.values()];
}

function routesOfPool(peer: BgpPeer, pool: IpPool): AcceptedRoutes[] {
  const advertisements = pool.advertisements.filter((each) =>
    selects(each.peerSelector, peer.labels),
  );
  // a pool that names its advertisements and none for this peer sends it nothing
  if (pool.advertisements.length > 0 && advertisements.length === 0) return [];
  return pool.ranges
    .filter((range) => peer.families.includes(range.first.family))
    .flatMap((range) => [
      ...hostRoutes(range, pool.name),
      ...advertisements.flatMap((each) => aggregates(range, each, pool.name)),
    ]);
}

function hostRoutes(range: AddressRange, pool: string): AcceptedRoutes[] {
  return cidrsOf(range).map((prefix) => ({
    family: prefix.family,
    prefix: formatPrefix(prefix),
    prefixLength: prefix.length,
    length: BITS[prefix.family],
    pool,
  }));
}

function aggregates(
  range: AddressRange,
  advertisement: Advertisement,
  pool: string,
): AcceptedRoutes[] {
  const { family } = range.first;
  const length = advertisement.aggregationLength?.[family];
  if (length === undefined || length >= BITS[family]) return [];
  // agents announce no aggregate that is larger than the pool
  return cidrsOf(range)
    .filter((prefix) => prefix.length <= length)
    .map((prefix) => ({
      family,
      prefix: formatPrefix(prefix),
      prefixLength: prefix.length,
      length,
      pool,
    }));
}

/** The fewest CIDRs that hold every address of the range and no other. */
export function cidrsOf(range: AddressRange): Prefix[] {
  const { family } = range.first;
  const bits = BITS[family];
  const last = numberOf(range.last);
  const cidrs: Prefix[] = [];
  for (let next = numberOf(range.first); next <= last; ) {
    let host = trailingZeros(next, bits);
    while (host > 0 && next + (1n << BigInt(host)) - 1n > last) host -= 1;
    cidrs.push(prefixOf(family, next, bits - host));
    next += 1n << BigInt(host);
  }
  return cidrs;
}

function trailingZeros(value: bigint, bits: number): number {
  let count = 0;
  while (count < bits && ((value >> BigInt(count)) & 1n) === 0n) count += 1;
  return count;
}

const WORD = 32n;
const WORD_MASK = 0xffffffffn;

function numberOf(address: Address): bigint {
  const words =
    address.family === 'ipv4' ? [address.bits] : [address.w0, address.w1, address.w2, address.w3];
  return words.reduce((sum, word) => (sum << WORD) | BigInt(word >>> 0), 0n);
}

function prefixOf(family: Family, value: bigint, length: number): Prefix {
  const word = (index: bigint) => Number((value >> (index * WORD)) & WORD_MASK) | 0;
  const address: Address =
    family === 'ipv4'
      ? { family, bits: word(0n) }
      : { family, w0: word(3n), w1: word(2n), w2: word(1n), w3: word(0n) };
  return maskPrefix(address, length);
}
