/**
 * A claim's name is its address: IPv4 dotted, IPv6 as eight groups of four lower-case hex digits joined by dashes, since a
 * Kubernetes name has no colons. One spelling per address, so the API server's uniqueness of names is uniqueness of addresses.
 */

import { type Address, formatAddress, parseAddress } from 'bgp-ts';

export function formatClaimName(address: Address): string {
  if (address.family === 'ipv4') return formatAddress(address);
  const words = [address.w0, address.w1, address.w2, address.w3];
  const groups = words.flatMap((word) => [word >>> 16, word & 0xffff]);
  return groups.map((group) => group.toString(16).padStart(4, '0')).join('-');
}

/** The name that was meant, where an address is written in another form: 2001:db8::7, or with dashes in place of colons. */
export function meantClaimName(written: string): string | undefined {
  const address = parseAddress(written) ?? parseAddress(written.replaceAll('-', ':'));
  return address === undefined ? undefined : formatClaimName(address);
}

/** undefined for everything that is not exactly the one spelling of an address */
export function parseClaimName(name: string): Address | undefined {
  const address = parseAddress(name.includes('-') ? name.replaceAll('-', ':') : name);
  return address !== undefined && formatClaimName(address) === name ? address : undefined;
}
