/**
 * A BGP identifier for a machine that was given none: its first IPv4 address that is not for this machine alone, as every router
 * does it, else a number made of its name. RFC 6286 asks only that it is not zero and unique within the AS. Pure.
 */

import type { Ipv4Address } from 'bgp-ts';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

export function defaultRouterId(name: string, addresses: readonly Ipv4Address[]): number {
  const first = addresses.find(({ bits }) => !isLocalOnly(bits >>> 0));
  return first === undefined ? hash(name) : first.bits >>> 0;
}

/** 127.0.0.0/8 and 169.254.0.0/16: many machines have the same */
function isLocalOnly(bits: number): boolean {
  return bits >>> 24 === 127 || bits >>> 16 === 0xa9fe || bits === 0;
}

/** FNV-1a over the code units, spread over 1 to 2^32 - 1 */
function hash(name: string): number {
  let value = FNV_OFFSET;
  for (const unit of name) {
    value = Math.imul(value ^ (unit.codePointAt(0) ?? 0), FNV_PRIME);
  }
  return value >>> 0 || 1;
}
