/**
 * How many addresses a pool can give out. An IPv6 pool has more than a double can count, so it is a bigint; `countForStatus` bounds
 * it for the 64-bit field of a status. ip-num does the arithmetic: few values, never one per address.
 */

import { formatAddress } from 'bgp-ts';
import { IPv4, IPv6 } from 'ip-num';
import type { AddressRange, IpPool } from './ip-pool.ts';
import { sparesEnds } from './pool-addresses.ts';

export function poolSize(pool: IpPool): bigint {
  return pool.ranges.reduce((sum, range) => sum + usable(pool, range), 0n);
}

function usable(pool: IpPool, range: AddressRange): bigint {
  const size = numberOf(range.last) - numberOf(range.first) + 1n;
  return pool.avoidFirstLast && sparesEnds(range) ? size - 2n : size;
}

function numberOf(address: AddressRange['first']): bigint {
  const text = formatAddress(address);
  return address.family === 'ipv4' ? new IPv4(text).getValue() : new IPv6(text).getValue();
}

/** At most what a signed 64-bit integer holds. */
export function countForStatus(size: bigint): bigint {
  const most = 2n ** 63n - 1n;
  return size < most ? size : most;
}
