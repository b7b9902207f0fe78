/**
 * Which EVPN routes can be at all (RFC 7432 §7, RFC 9136 §3): the lengths of the five known types, and inside a MAC/IP route its
 * address lengths. Other types pass, since an unknown type is not an error (RFC 7606 §5.4). EVPN stays opaque otherwise.
 */

import { u8At } from '../bytes/peek.ts';

/** indexed by route type: the lengths that its fields can add up to */
const LENGTHS: readonly (readonly number[] | undefined)[] = [
  undefined,
  // Ethernet auto-discovery
  [25],
  // MAC/IP: no address, IPv4 or IPv6, one label or two
  [33, 36, 37, 40, 49, 52],
  // inclusive multicast, Ethernet segment: IPv4 or IPv6
  [17, 29],
  [23, 35],
  // IP prefix: IPv4 or IPv6
  [34, 58],
];

const MAC_IP = 2;
/** behind the distinguisher (8), the segment identifier (10) and the Ethernet tag (4) */
const MAC_LENGTH_AT = 22;
const MAC_BITS = 48;
const IP_LENGTH_AT = MAC_LENGTH_AT + 1 + MAC_BITS / 8;

/** `value` is what follows the length octet. */
export function isEvpnRoute(type: number, value: Uint8Array): boolean {
  const lengths = LENGTHS[type];
  if (lengths === undefined) return true;
  if (!lengths.includes(value.length)) return false;
  return type !== MAC_IP || isMacIp(value);
}

function isMacIp(value: Uint8Array): boolean {
  if (u8At(value, MAC_LENGTH_AT) !== MAC_BITS) return false;
  const ipBits = u8At(value, IP_LENGTH_AT);
  if (ipBits !== 0 && ipBits !== 32 && ipBits !== 128) return false;
  const labels = value.length - IP_LENGTH_AT - 1 - ipBits / 8;
  return labels === 3 || labels === 6;
}
