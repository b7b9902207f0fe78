/**
 * A BGP identifier for a machine that was given none: its first IPv4 address that is not for this machine alone, as every router
 * does it, else a number made of its name. RFC 6286 asks only that it is not zero and unique within the AS. Pure.
 *
 * A claimed address is on many machines, so one that a crash of ours left is never taken, and a host address on `lo` or a dummy, where
 * people and proxies put service addresses, only where there is no other: there it may as well be the machine's own.
 */

import type { KernelAddress } from '../linux/address-table.ts';
import { isServiceAddress } from './service-address.ts';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

type Known = Pick<KernelAddress, 'address' | 'prefixLength' | 'interface' | 'ours'>;

export function defaultRouterId(
  name: string,
  present: readonly Known[],
  withoutArp: ReadonlySet<string> = new Set(),
): number {
  const candidates = present.flatMap((known) => {
    const { address, ours } = known;
    if (ours || address.family !== 'ipv4' || isLocalOnly(address.bits >>> 0)) return [];
    return [{ id: address.bits >>> 0, isService: isServiceAddress(known, withoutArp) }];
  });
  const best = candidates.find(({ isService }) => !isService) ?? candidates[0];
  return best?.id ?? hash(name);
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
