/**
 * Values written down in code, known to be right: these throw where the parsers of address-text.ts return undefined. Not for
 * what comes from users or from the network.
 */

import type { Address, Ipv4Address, Ipv6Address, Prefix } from './address.ts';
import { parseAddress, parsePrefix, parseRouterId } from './address-text.ts';

/** @example address('192.0.2.1') */
export function address(text: string): Address {
  return known(parseAddress(text), text, 'an IP address');
}

/** @example ipv4('192.0.2.1') */
export function ipv4(text: string): Ipv4Address {
  const parsed = parseAddress(text);
  return known(parsed?.family === 'ipv4' ? parsed : undefined, text, 'an IPv4 address');
}

/** @example ipv6('2001:db8::1') */
export function ipv6(text: string): Ipv6Address {
  const parsed = parseAddress(text);
  return known(parsed?.family === 'ipv6' ? parsed : undefined, text, 'an IPv6 address');
}

/** @example prefix('198.51.100.7/32') */
export function prefix(text: string): Prefix {
  return known(parsePrefix(text), text, 'a prefix with no bits set behind its length');
}

/** @example routerId('192.0.2.1') */
export function routerId(text: string): number {
  return known(parseRouterId(text), text, 'a BGP identifier');
}

function known<T>(value: T | undefined, text: string, what: string): T {
  if (value === undefined) throw new RangeError(`'${text}' is not ${what}`);
  return value;
}
