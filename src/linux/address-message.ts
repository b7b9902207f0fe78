/**
 * Addresses of interfaces as rtnetlink bodies (linux/if_addr.h): RTM_NEWADDR, RTM_DELADDR, and what a list of them says.
 *
 *   ifaddrmsg: u8 family | u8 prefix length | u8 flags | u8 scope | u32 interface, then attributes
 *
 * Always valid for ever: an address that must be renewed vanishes under whoever forgets to.
 */

import type { Address } from 'bgp-ts';
import {
  concat,
  decodeAddress,
  decodeText,
  encodeAddress,
  encodeAttribute,
  encodeText,
  familyNumber,
  familyOf,
  findAttribute,
  uint32At,
} from './netlink-message.ts';

export const AddressMessageType = { add: 20, remove: 21, get: 22 } as const;

/**
 * `noDuplicateDetection` makes an IPv6 address usable at once, `deprecated` keeps it from being the source of the machine's own
 * connections (RFC 6724 §5, rule 3); the rest is only read
 */
export const AddressFlag = {
  secondary: 0x1,
  noDuplicateDetection: 0x2,
  duplicate: 0x8,
  deprecated: 0x20,
  tentative: 0x40,
  permanent: 0x80,
} as const;

const HEADER_OCTETS = 8;
const Attribute = { address: 1, local: 2, label: 3, lifetimes: 6, flags: 8, protocol: 11 } as const;

/** ifa_cacheinfo: u32 preferred | u32 valid | two times that only the kernel writes. Preferred for 0 s, valid for ever. */
const DEPRECATED_LIFETIMES = Uint8Array.of(0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0);

export interface AddressBody {
  readonly address: Address;
  readonly prefixLength: number;
  /** the number of the interface */
  readonly index: number;
  readonly flags: number;
  /** IPv4 only */
  readonly label?: string;
  /** who added it (Linux 5.18); absent is 0, "nobody said" */
  readonly protocol?: number;
}

export function encodeAddressBody(body: AddressBody): Uint8Array {
  const { address, prefixLength, index, flags, label, protocol } = body;
  const header = new Uint8Array(HEADER_OCTETS);
  header.set([familyNumber(address.family), prefixLength, flags]);
  new DataView(header.buffer).setUint32(4, index, true);
  const octets = encodeAddress(address);
  return concat(
    header,
    encodeAttribute(Attribute.local, octets),
    encodeAttribute(Attribute.address, octets),
    label === undefined ? new Uint8Array() : encodeAttribute(Attribute.label, encodeText(label)),
    protocol === undefined
      ? new Uint8Array()
      : encodeAttribute(Attribute.protocol, Uint8Array.of(protocol)),
    // the kernel ignores this flag in a request: it follows from the lifetime
    (flags & AddressFlag.deprecated) === 0
      ? new Uint8Array()
      : encodeAttribute(Attribute.lifetimes, DEPRECATED_LIFETIMES),
  );
}

/** A request for all addresses of both families. */
export function encodeAddressList(): Uint8Array {
  return new Uint8Array(HEADER_OCTETS);
}

/** undefined for what is neither IPv4 nor IPv6, or is cut short */
export function decodeAddressBody(body: Uint8Array): AddressBody | undefined {
  const family = familyOf(body[0]);
  const [, prefixLength, shortFlags] = body;
  const index = uint32At(body, 4);
  if (family === undefined || prefixLength === undefined || index === undefined) return undefined;
  if (prefixLength > (family === 'ipv4' ? 32 : 128)) return undefined;
  const find = (type: number) => findAttribute(body, HEADER_OCTETS, type);
  // On a point-to-point link `address` is the other end and `local` is ours; IPv6 has `local` only there.
  const address = decodeAddress(family, find(Attribute.local) ?? find(Attribute.address));
  if (address === undefined) return undefined;
  const label = find(Attribute.label);
  const protocol = find(Attribute.protocol)?.[0];
  return {
    address,
    prefixLength,
    index,
    flags: uint32At(find(Attribute.flags)) ?? shortFlags ?? 0,
    ...(label === undefined ? {} : { label: decodeText(label) }),
    ...(protocol === undefined ? {} : { protocol }),
  };
}
