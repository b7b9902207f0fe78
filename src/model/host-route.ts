/** Addresses that cannot be announced as host routes: routers drop such routes, or hosts the packets to them. Pure. */

import type { Address } from 'bgp-ts';
import { parseAddressRange, rangeHolds, rangesOverlap } from './address-range.ts';
import type { AddressRange } from './ip-pool.ts';

interface NoRoute {
  readonly range: AddressRange;
  readonly what: string;
}

const NO_ROUTE: readonly NoRoute[] = [
  ['0.0.0.0/8', 'an address of "this network"'],
  ['127.0.0.0/8', 'a loopback address'],
  ['169.254.0.0/16', 'a link-local address'],
  ['224.0.0.0/3', 'a multicast or reserved address'],
  ['::/127', 'the unspecified or loopback address'],
  ['::ffff:0:0/96', 'an IPv4 address inside IPv6'],
  ['fe80::/10', 'a link-local address'],
  ['ff00::/8', 'a multicast address'],
].map(([text = '', what = '']) => {
  const range = parseAddressRange(text);
  if (typeof range === 'string') throw new Error(range);
  return { range, what };
});

/** what kind of address it is that no route may lead to; undefined: one that a route may lead to */
export function noHostRoute(address: Address): string | undefined {
  return NO_ROUTE.find(({ range }) => rangeHolds(range, address))?.what;
}

/** the first part of the range that no route may lead to */
export function noHostRouteIn(
  range: AddressRange,
): { readonly block: string; readonly what: string } | undefined {
  const found = NO_ROUTE.find((each) => rangesOverlap(each.range, range));
  return found && { block: found.range.text, what: found.what };
}
