/**
 * The text of addresses and prefixes. Reading is strict: what `inet_pton` takes (RFC 4291 §2.2 for IPv6, four decimal
 * octets with no leading zeros for IPv4), no zone index, no blanks around. Writing is RFC 5952: lower case, the longest
 * run of zero groups shortened, the first of equals, never a single group, and IPv4-mapped addresses with a dotted end (§5).
 *
 * Files of 100,000 prefixes are read with this, so it walks over character codes and builds no strings on the way.
 * Anything that is not an address is `undefined`, never a throw; the caller knows what to say about it.
 */

import { hexDigit } from '../bytes/hex.ts';
import {
  type Address,
  addressEquals,
  hostPrefix,
  type Ipv6Address,
  maskPrefix,
  maskWord,
  maxPrefixLength,
  type Prefix,
} from './address.ts';

const ZERO = 48;
const DOT = 46;
const COLON = 58;

/**
 * An IPv4 or IPv6 address.
 *
 * @example
 * parseAddress('192.0.2.256'); // undefined
 */
export function parseAddress(text: string): Address | undefined {
  return readAddress(text, text.length);
}

/**
 * `address/length`, with no bit set behind the length: `10.0.0.1/24` is undefined here, because it is either a slip of
 * the pen or an interface address and the caller has to say which (`parsePrefixMasked`).
 *
 * @example
 * parsePrefix('10.0.0.1/24'); // undefined
 */
export function parsePrefix(text: string): Prefix | undefined {
  const slash = text.lastIndexOf('/');
  if (slash < 0) return undefined;
  const bits = readIpv4(text, 0, slash);
  // most of a long list is this: no address object in between
  if (bits >= 0) {
    const length = readLength(text, slash + 1);
    if (length < 0 || length > 32 || maskWord(bits, length) !== (bits | 0)) return undefined;
    return { family: 'ipv4', bits: bits | 0, length };
  }
  const address = readIpv6(text, slash);
  if (address === undefined) return undefined;
  const length = readLength(text, slash + 1);
  if (length < 0 || length > maxPrefixLength(address.family)) return undefined;
  const prefix = maskPrefix(address, length);
  return addressEquals(prefix, address) ? prefix : undefined;
}

/**
 * Like `parsePrefix`, but bits behind the length are cleared, and an address alone is its host prefix.
 *
 * @example
 * parsePrefixMasked('10.0.0.1/24'); // the same as parsePrefix('10.0.0.0/24')
 */
export function parsePrefixMasked(text: string): Prefix | undefined {
  const slash = text.lastIndexOf('/');
  const address = readAddress(text, slash < 0 ? text.length : slash);
  if (address === undefined) return undefined;
  if (slash < 0) return hostPrefix(address);
  const length = readLength(text, slash + 1);
  if (length < 0 || length > maxPrefixLength(address.family)) return undefined;
  return maskPrefix(address, length);
}

/**
 * A BGP identifier as the unsigned number that OPEN carries, from its dotted form (RFC 6286 §2.1).
 *
 * @example
 * parseRouterId('192.0.2.1'); // 0xc0000201
 */
export function parseRouterId(text: string): number | undefined {
  const bits = readIpv4(text, 0, text.length);
  return bits < 0 ? undefined : bits;
}

/**
 * The dotted form of a BGP identifier.
 *
 * @example
 * formatRouterId(0xc0000201); // '192.0.2.1'
 */
export function formatRouterId(routerId: number): string {
  return formatIpv4(routerId);
}

/**
 * RFC 5952.
 *
 * @example
 * formatAddress(address('2001:DB8:0:0:0:0:0:1')); // '2001:db8::1'
 */
export function formatAddress(address: Address): string {
  return address.family === 'ipv4' ? formatIpv4(address.bits) : formatIpv6(address, true);
}

/**
 * RFC 5952 and the length.
 *
 * @example
 * formatPrefix(prefix('2001:DB8:0::/48')); // '2001:db8::/48'
 */
export function formatPrefix(prefix: Prefix): string {
  if (prefix.family === 'ipv4') return `${formatIpv4(prefix.bits)}/${prefix.length}`;
  // ::ffff:0:0/96 is the name of the mapped range itself; only what lies inside it shows an IPv4 address
  return `${formatIpv6(prefix, prefix.length > 96)}/${prefix.length}`;
}

function readAddress(text: string, end: number): Address | undefined {
  const bits = readIpv4(text, 0, end);
  return bits < 0 ? readIpv6(text, end) : { family: 'ipv4', bits: bits | 0 };
}

/** One to three digits up to the end of the text, no leading zero; -1 where it is anything else. */
function readLength(text: string, start: number): number {
  const digits = text.length - start;
  if (digits < 1 || digits > 3) return -1;
  if (digits > 1 && text.charCodeAt(start) === ZERO) return -1;
  let value = 0;
  for (let i = start; i < text.length; i++) {
    const digit = text.charCodeAt(i) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

/** The 32 bits as an unsigned number, or -1. */
function readIpv4(text: string, start: number, end: number): number {
  let value = 0;
  let octet = -1;
  let dots = 0;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT) {
      if (octet < 0 || dots === 3) return -1;
      dots++;
      value = (value << 8) | octet;
      octet = -1;
    } else {
      octet = withDigit(octet, code - ZERO);
      if (octet < 0) return -1;
    }
  }
  return dots === 3 && octet >= 0 ? ((value << 8) | octet) >>> 0 : -1;
}

/**
 * The octet with one more digit behind it, or -1: no digit, above 255, or a zero in front, which some readers take
 * for octal and nobody may guess.
 */
function withDigit(octet: number, digit: number): number {
  if (digit < 0 || digit > 9 || octet === 0) return -1;
  const next = octet < 0 ? digit : octet * 10 + digit;
  return next > 255 ? -1 : next;
}

/** The groups of the address being read; parsing never calls itself, so one is enough. */
const groups = new Uint16Array(8);

function readIpv6(text: string, end: number): Ipv6Address | undefined {
  const gap = text.indexOf('::');
  if (gap < 0 || gap >= end) return readGroups(text, 0, end, 0) === 8 ? joined() : undefined;
  const dot = text.indexOf('.');
  // a dotted quad stands at the very end or nowhere
  if (dot >= 0 && dot < gap) return undefined;
  const before = gap === 0 ? 0 : readGroups(text, 0, gap, 0);
  if (before < 0) return undefined;
  const count = gap + 2 === end ? before : readGroups(text, gap + 2, end, before);
  // `::` stands for at least one group (RFC 4291 §2.2, 2)
  if (count < 0 || count > 7) return undefined;
  groups.copyWithin(before + 8 - count, before, count);
  groups.fill(0, before, before + 8 - count);
  return joined();
}

/** Reads groups between colons behind those already there; the new count, or -1. */
function readGroups(text: string, start: number, end: number, already: number): number {
  let count = already;
  for (let at = start; count < 8; at++) {
    const next = readGroup(text, at, end);
    if (next < end && text.charCodeAt(next) === DOT) {
      return readDottedEnd(text, at, end, count);
    }
    if (next === at || next - at > 4) return -1;
    groups[count++] = group;
    if (next === end) return count;
    if (text.charCodeAt(next) !== COLON) return -1;
    at = next;
  }
  return -1;
}

/** the value of the group that `readGroup` read last */
let group = 0;

/** Reads hexadecimal digits into `group` and returns where they end. */
function readGroup(text: string, start: number, end: number): number {
  group = 0;
  let at = start;
  for (; at < end && at - start < 5; at++) {
    const digit = hexDigit(text.charCodeAt(at));
    if (digit < 0) break;
    group = (group << 4) | digit;
  }
  return at;
}

/** The last 32 bits as a dotted quad (RFC 4291 §2.2, 3); the new count of groups, or -1. */
function readDottedEnd(text: string, start: number, end: number, count: number): number {
  if (count > 6) return -1;
  const bits = readIpv4(text, start, end);
  if (bits < 0) return -1;
  groups[count] = bits >>> 16;
  groups[count + 1] = bits & 0xffff;
  return count + 2;
}

function joined(): Ipv6Address {
  return { family: 'ipv6', w0: word(0), w1: word(2), w2: word(4), w3: word(6) };
}

function word(at: number): number {
  return ((groups[at] as number) << 16) | (groups[at + 1] as number);
}

function formatIpv4(bits: number): string {
  return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`;
}

function formatIpv6(address: Ipv6Address, dottedEnd: boolean): string {
  const { w0, w1, w2, w3 } = address;
  if (dottedEnd && w0 === 0 && w1 === 0 && w2 === 0xffff) return `::ffff:${formatIpv4(w3)}`;
  const parts = [w0, w1, w2, w3].flatMap((bits) => [bits >>> 16, bits & 0xffff]);
  const { start, length } = longestZeroRun(parts);
  if (length < 2) return joinGroups(parts, 0, 8);
  return `${joinGroups(parts, 0, start)}::${joinGroups(parts, start + length, 8)}`;
}

function joinGroups(parts: readonly number[], from: number, to: number): string {
  let text = '';
  for (let i = from; i < to; i++) {
    if (i > from) text += ':';
    text += (parts[i] as number).toString(16);
  }
  return text;
}

/** The first of the longest runs of zero groups (RFC 5952 §4.2.3). */
function longestZeroRun(parts: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (let i = 0; i <= 8; i++) {
    if (i < 8 && parts[i] === 0) continue;
    if (i - start > best.length) best = { start, length: i - start };
    start = i + 1;
  }
  return best;
}
