/**
 * Ranges of addresses as they are written in a pool: `192.0.2.0/24`, `198.51.100.10-198.51.100.20`, `2001:db8::7`. Reading them,
 * and what they hold. Pure. What a pool may give out is pool-addresses.ts.
 */

import {
  type Address,
  compareAddress,
  type Prefix,
  parseAddress,
  parsePrefix,
  parsePrefixMasked,
  prefixAddress,
} from 'bgp-ts';
import type { AddressRange } from './ip-pool.ts';

/** The range, or a sentence that says what is wrong with it. */
export function parseAddressRange(text: string): AddressRange | string {
  if (text.includes('/')) return parseCidr(text);
  const ends = text.split('-');
  const first = parseAddress(ends[0] ?? '');
  const last = parseAddress(ends.at(-1) ?? '');
  if (ends.length > 2 || first === undefined || last === undefined) {
    return `'${text}' is neither a CIDR (192.0.2.0/24) nor a range (192.0.2.10-192.0.2.20) nor an address`;
  }
  if (first.family !== last.family) {
    return `'${text}' begins in one address family and ends in the other; write one range for each`;
  }
  if (compareAddress(first, last) > 0) {
    return `'${text}' ends before it begins; write the lower address first`;
  }
  return { first, last, text };
}

function parseCidr(text: string): AddressRange | string {
  const prefix = parsePrefixMasked(text);
  if (prefix === undefined) return `'${text}' is not a CIDR; write one such as 192.0.2.0/24`;
  const range = { first: prefixAddress(prefix), last: lastAddress(prefix), text };
  return parsePrefix(text) === undefined ? { ...range, masked: true } : range;
}

/** The last address of a prefix. */
export function lastAddress(prefix: Prefix): Address {
  const fill = (word: number, length: number) => {
    if (length >= 32) return word;
    return length <= 0 ? -1 : word | (-1 >>> length);
  };
  const { length } = prefix;
  if (prefix.family === 'ipv4') return { family: 'ipv4', bits: fill(prefix.bits, length) };
  return {
    family: 'ipv6',
    w0: fill(prefix.w0, length),
    w1: fill(prefix.w1, length - 32),
    w2: fill(prefix.w2, length - 64),
    w3: fill(prefix.w3, length - 96),
  };
}

export function rangeHolds(range: AddressRange, address: Address): boolean {
  return (
    range.first.family === address.family &&
    compareAddress(range.first, address) <= 0 &&
    compareAddress(address, range.last) <= 0
  );
}

export function rangesOverlap(a: AddressRange, b: AddressRange): boolean {
  return (
    a.first.family === b.first.family &&
    compareAddress(a.first, b.last) <= 0 &&
    compareAddress(b.first, a.last) <= 0
  );
}
