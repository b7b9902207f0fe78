/** Which addresses a pool may give out. Pure. How many they are is pool-size.ts. */

import { type Address, addressEquals } from 'bgp-ts';
import { rangeHolds } from './address-range.ts';
import type { AddressRange, IpPool } from './ip-pool.ts';

/**
 * Whether first and last are left out of this range when a pool asks for that: only where they were written as a network, and
 * where there is anything between them (a /31 of RFC 3021 has two hosts).
 */
export function sparesEnds(range: AddressRange): boolean {
  const length = Number(/\/(\d+)$/.exec(range.text)?.[1] ?? Number.NaN);
  return length <= (range.first.family === 'ipv4' ? 30 : 126);
}

/** True when the pool may give out this address. */
export function poolHolds(pool: IpPool, address: Address): boolean {
  return pool.ranges.some((range) => {
    if (!rangeHolds(range, address)) return false;
    if (!pool.avoidFirstLast || !sparesEnds(range)) return true;
    return !addressEquals(address, range.first) && !addressEquals(address, range.last);
  });
}
