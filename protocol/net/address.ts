/**
 * IP addresses and prefixes as plain values: building, masking, comparing, keys, octets. Their text is address-text.ts.
 *
 * The bits of an address are held as signed 32-bit integers (`| 0`): V8 keeps those unboxed in an object, so a
 * table of 100,000 prefixes stays small and reading NLRI from the wire allocates one object per prefix and nothing
 * else. `>>> 0` gives the unsigned value. Who is not a codec need not know.
 *
 * A prefix is always masked: bits behind its length are zero.
 */

import { i32At } from '../bytes/peek.ts';

export type Family = 'ipv4' | 'ipv6';

export interface Ipv4Address {
  readonly family: 'ipv4';
  /** the address as a signed 32-bit integer */
  readonly bits: number;
}

export interface Ipv6Address {
  readonly family: 'ipv6';
  /** the four 32-bit words, most significant first, each a signed 32-bit integer */
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
}

export type Address = Ipv4Address | Ipv6Address;

export interface Ipv4Prefix {
  readonly family: 'ipv4';
  readonly bits: number;
  readonly length: number;
}

export interface Ipv6Prefix {
  readonly family: 'ipv6';
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
  readonly length: number;
}

export type Prefix = Ipv4Prefix | Ipv6Prefix;

declare const prefixKeyBrand: unique symbol;
/** A prefix as a short string, for Map keys; equal prefixes have equal keys. Not for people to read. */
export type PrefixKey = string & { readonly [prefixKeyBrand]: true };

const IPV4_BITS = 32;
const IPV6_BITS = 128;

/** An IPv4 address from its 32 bits, signed or unsigned. */
export function ipv4Address(bits: number): Ipv4Address {
  return { family: 'ipv4', bits: bits | 0 };
}

/** An IPv6 address from its four 32-bit words, most significant first, signed or unsigned. */
export function ipv6Address(w0: number, w1: number, w2: number, w3: number): Ipv6Address {
  return { family: 'ipv6', w0: w0 | 0, w1: w1 | 0, w2: w2 | 0, w3: w3 | 0 };
}

/** How long a prefix of this family can be. */
export function maxPrefixLength(family: Family): number {
  return family === 'ipv4' ? IPV4_BITS : IPV6_BITS;
}

/**
 * The word with every bit from `length` on cleared; at or below 0 nothing stays, at or above 32 everything does.
 * JavaScript takes shift counts modulo 32, so both ends need their own answer.
 */
export function maskWord(word: number, length: number): number {
  if (length <= 0) return 0;
  return length >= 32 ? word | 0 : word & (-1 << (32 - length));
}

/**
 * The prefix of `length` bits that holds the address. The length must fit the family.
 *
 * @example
 * formatPrefix(maskPrefix(ipv4('192.0.2.77'), 24)); // '192.0.2.0/24'
 */
export function maskPrefix(address: Address, length: number): Prefix {
  if (!Number.isInteger(length) || length < 0 || length > maxPrefixLength(address.family)) {
    throw new RangeError(`no ${address.family} prefix has ${length} bits`);
  }
  if (address.family === 'ipv4') {
    return { family: 'ipv4', bits: maskWord(address.bits, length), length };
  }
  return {
    family: 'ipv6',
    w0: maskWord(address.w0, length),
    w1: maskWord(address.w1, length - 32),
    w2: maskWord(address.w2, length - 64),
    w3: maskWord(address.w3, length - 96),
    length,
  };
}

/**
 * The prefix that holds this address and no other.
 *
 * @example
 * formatPrefix(hostPrefix(ipv4('192.0.2.1'))); // '192.0.2.1/32'
 */
export function hostPrefix(address: Address): Prefix {
  return maskPrefix(address, maxPrefixLength(address.family));
}

/**
 * The first address of a prefix.
 *
 * @example
 * formatAddress(prefixAddress(prefix('192.0.2.0/24'))); // '192.0.2.0'
 */
export function prefixAddress(prefix: Prefix): Address {
  return prefix.family === 'ipv4'
    ? { family: 'ipv4', bits: prefix.bits }
    : { family: 'ipv6', w0: prefix.w0, w1: prefix.w1, w2: prefix.w2, w3: prefix.w3 };
}

/**
 * The same family and the same bits.
 *
 * @example
 * addressEquals(address('2001:db8::1'), address('2001:db8:0::1')); // true
 */
export function addressEquals(a: Address, b: Address): boolean {
  if (a.family === 'ipv4') return b.family === 'ipv4' && a.bits === b.bits;
  return b.family === 'ipv6' && a.w0 === b.w0 && a.w1 === b.w1 && a.w2 === b.w2 && a.w3 === b.w3;
}

/**
 * The same family, bits and length.
 *
 * @example
 * prefixEquals(prefix('10.0.0.0/8'), prefix('10.0.0.0/16')); // false
 */
export function prefixEquals(a: Prefix, b: Prefix): boolean {
  return a.length === b.length && addressEquals(a, b);
}

/**
 * Order of addresses: IPv4 before IPv6, then by value.
 *
 * @example
 * addresses.toSorted(compareAddress);
 */
export function compareAddress(a: Address, b: Address): number {
  if (a.family === 'ipv4') return b.family === 'ipv4' ? compareWord(a.bits, b.bits) : -1;
  if (b.family === 'ipv4') return 1;
  return (
    compareWord(a.w0, b.w0) ||
    compareWord(a.w1, b.w1) ||
    compareWord(a.w2, b.w2) ||
    compareWord(a.w3, b.w3)
  );
}

/**
 * Order of prefixes: IPv4 before IPv6, then by first address, then the shorter one first.
 *
 * @example
 * prefixes.toSorted(comparePrefix);
 */
export function comparePrefix(a: Prefix, b: Prefix): number {
  return compareAddress(a, b) || a.length - b.length;
}

function compareWord(a: number, b: number): number {
  if (a === b) return 0;
  return a >>> 0 < b >>> 0 ? -1 : 1;
}

/**
 * True when every address of `inner` is one of `outer`.
 *
 * @example
 * prefixContains(prefix('192.0.2.0/24'), prefix('192.0.2.7/32')); // true
 */
export function prefixContains(outer: Prefix, inner: Prefix): boolean {
  if (outer.family !== inner.family || inner.length < outer.length) return false;
  return addressEquals(maskPrefix(inner, outer.length), outer);
}

/**
 * The address as a short string for Map keys: two UTF-16 units for IPv4, eight for IPv6. Not for people to read.
 *
 * @example
 * const byAddress = new Map([[addressKey(ipv4('192.0.2.1')), 'router']]);
 */
export function addressKey(address: Address): string {
  if (address.family === 'ipv4') return wordKey(address.bits);
  return wordKey(address.w0) + wordKey(address.w1) + wordKey(address.w2) + wordKey(address.w3);
}

/**
 * The prefix as a short string for Map keys: three UTF-16 units for IPv4, nine for IPv6, so keys of the two families never meet.
 *
 * @example
 * const byPrefix = new Map([[prefixKey(prefix('10.0.0.0/8')), route]]);
 */
export function prefixKey(prefix: Prefix): PrefixKey {
  if (prefix.family === 'ipv4') {
    const bits = prefix.bits;
    return String.fromCharCode(bits >>> 16, bits & 0xffff, prefix.length) as PrefixKey;
  }
  return (addressKey(prefix) + String.fromCharCode(prefix.length)) as PrefixKey;
}

function wordKey(word: number): string {
  return String.fromCharCode(word >>> 16, word & 0xffff);
}

/**
 * fe80::/10 (RFC 4291 §2.5.6) and 169.254.0.0/16 (RFC 3927)
 *
 * @example
 * isLinkLocal(address('fe80::1')); // true
 */
export function isLinkLocal(address: Address): boolean {
  return address.family === 'ipv4'
    ? address.bits >>> 16 === 0xa9fe
    : (address.w0 & 0xffc00000) === (0xfe800000 | 0);
}

/** 127.0.0.0/8 or ::1 */
export function isLoopback(address: Address): boolean {
  return address.family === 'ipv4'
    ? address.bits >>> 24 === 127
    : (address.w0 | address.w1 | address.w2) === 0 && address.w3 === 1;
}

/** 0.0.0.0 or :: */
export function isUnspecified(address: Address): boolean {
  return address.family === 'ipv4'
    ? address.bits === 0
    : (address.w0 | address.w1 | address.w2 | address.w3) === 0;
}

/** The address in 4 or 16 octets that start at `offset`; undefined where there are fewer. */
export function addressFromBytes(
  family: Family,
  bytes: Uint8Array,
  offset = 0,
): Address | undefined {
  if (offset + (family === 'ipv4' ? 4 : 16) > bytes.length) return undefined;
  return family === 'ipv4' ? ipv4At(bytes, offset) : ipv6At(bytes, offset);
}

/** The address in the 4 octets at an offset, which the caller knows to be there. */
export function ipv4At(bytes: Uint8Array, at: number): Ipv4Address {
  return { family: 'ipv4', bits: i32At(bytes, at) };
}

/** The address in the 16 octets at an offset, which the caller knows to be there. */
export function ipv6At(bytes: Uint8Array, at: number): Ipv6Address {
  return {
    family: 'ipv6',
    w0: i32At(bytes, at),
    w1: i32At(bytes, at + 4),
    w2: i32At(bytes, at + 8),
    w3: i32At(bytes, at + 12),
  };
}

/** The address as 4 or 16 octets, network order. */
export function addressToBytes(address: Address): Uint8Array {
  const words =
    address.family === 'ipv4' ? [address.bits] : [address.w0, address.w1, address.w2, address.w3];
  return Uint8Array.from(words.flatMap((word) => [word >>> 24, word >>> 16, word >>> 8, word]));
}
