/** Endpoints to and from the text that node:net speaks: zones as `%eth0`, and IPv4 that arrives v4-mapped as IPv4. */

import { type Address, addressFromBytes, addressToBytes, isLinkLocal } from '../net/address.ts';
import { formatAddress, parseAddress } from '../net/address-text.ts';
import type { Endpoint } from './transport.ts';

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/** An IPv4 connection on a dual-stack socket shows as ::ffff:a.b.c.d; everybody above knows it as a.b.c.d. */
export function unmapAddress(address: Address): Address {
  if (address.family === 'ipv4') return address;
  const bytes = addressToBytes(address);
  if (mappedPrefix.some((octet, at) => bytes[at] !== octet)) return address;
  return addressFromBytes('ipv4', bytes, 12) ?? address;
}

/** `fe80::1%eth0`: the zone only where the address has no meaning without it */
export function formatHost(address: Address, zone: string | undefined): string {
  const text = formatAddress(address);
  return zone !== undefined && address.family === 'ipv6' && isLinkLocal(address)
    ? `${text}%${zone}`
    : text;
}

/** From what a socket says of itself; undefined when it says nothing (it is closed). */
export function parseEndpoint(
  host: string | undefined,
  port: number | undefined,
): Endpoint | undefined {
  if (host === undefined || port === undefined) return undefined;
  const [text = '', zone] = host.split('%', 2);
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  return { address: unmapAddress(address), port, ...(zone === undefined ? {} : { zone }) };
}

/**
 * An endpoint for sentences; a link-local address with its zone.
 *
 * @example
 * formatEndpoint({ address: address('fe80::1'), port: 179, zone: 'eth0' }); // '[fe80::1%eth0]:179'
 */
export function formatEndpoint({ address, port, zone }: Endpoint): string {
  const host = formatHost(address, zone);
  return address.family === 'ipv4' ? `${host}:${port}` : `[${host}]:${port}`;
}
