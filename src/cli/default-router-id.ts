/** A BGP identifier for who gave none: RFC 4271 §4.2 wants an address of the machine, RFC 6286 any number but 0. */

import { networkInterfaces } from 'node:os';
import { type Address, nodeRandom, parseAddress } from 'bgp-ts';
import { errorCode } from '../error-code.ts';

/** this address where it is IPv4, else an address of this machine, else any number but 0 */
export function defaultRouterId(preferred: Address | undefined): number {
  const candidates = preferred === undefined ? hostAddresses() : [preferred, ...hostAddresses()];
  for (const address of candidates) if (address.family === 'ipv4') return address.bits >>> 0;
  return 1 + Math.floor(nodeRandom.next() * 0xdfffffff);
}

/** addresses of this machine, loopback last */
function hostAddresses(): readonly Address[] {
  const entries = Object.values(interfaces()).flatMap((list) => list ?? []);
  const sorted = entries.toSorted((a, b) => Number(a.internal) - Number(b.internal));
  return sorted.flatMap((entry) => parseAddress(entry.address) ?? []);
}

/** none where the system does not let us ask: a sandbox without netlink */
function interfaces(): ReturnType<typeof networkInterfaces> {
  try {
    return networkInterfaces();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return {};
  }
}
