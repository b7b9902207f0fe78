/**
 * Extended communities: eight octets (RFC 4360, RFC 5668, RFC 7153) or twenty (RFC 5701, IPv6 address specific), and
 * their text.
 *
 *   rt:65000:100             route target, two-octet AS        soo:… the same for route origin
 *   rt:4200000000:100        route target, four-octet AS; `rt:65000L:100` where the number is small all the same
 *   rt:192.0.2.1:100         route target, IPv4 address        rt:[2001:db8::1]:100 with twenty octets
 *   link-bandwidth:65000:1.25e8     octets a second (draft-ietf-idr-link-bandwidth), not transitive
 *   0x0123456789abcdef       everything else
 *
 * Text and octets are one to one: what one side writes the other reads back to the same bits.
 */

import { formatHex, parseHex } from '../bytes/hex.ts';
import { u16At, u32At } from '../bytes/peek.ts';
import { ByteWriter } from '../bytes/writer.ts';
import { ipv6At } from '../net/address.ts';
import { formatAddress, parseAddress } from '../net/address-text.ts';
import { parseDecimal } from './community.ts';
import type { ExtendedCommunity } from './message.ts';

/** the high octet of the type: how the value is laid out */
const Layout = { twoOctetAs: 0x00, ipv4: 0x01, fourOctetAs: 0x02 } as const;
/** the low octet: what it means; the same in all three layouts */
const SubType = { routeTarget: 0x02, routeOrigin: 0x03 } as const;
/** type 0x40 (two-octet AS, not transitive), subtype 4 */
const LINK_BANDWIDTH = 0x4004;

const SUBTYPE_NAMES = new Map<number, string>([
  [SubType.routeTarget, 'rt'],
  [SubType.routeOrigin, 'soo'],
]);
const SUBTYPES = new Map<string, number>([
  ['rt', SubType.routeTarget],
  ['soo', SubType.routeOrigin],
]);

const scratch = new DataView(new ArrayBuffer(4));

/** The caller has seen that the length is a multiple of 8. */
export function readExtendedCommunities(
  bytes: Uint8Array,
  start: number,
  end: number,
): ExtendedCommunity[] {
  const list: ExtendedCommunity[] = [];
  for (let at = start; at < end; at += 8) {
    list.push({ high: u32At(bytes, at), low: u32At(bytes, at + 4) });
  }
  return list;
}

/**
 * One of the texts above; `0x` and sixteen digits for what has none.
 *
 * @example
 * formatExtendedCommunity({ high: 0x0002fde8, low: 100 }); // 'rt:65000:100'
 */
export function formatExtendedCommunity(community: ExtendedCommunity): string {
  return formatTyped(community) ?? `0x${hex32(community.high)}${hex32(community.low)}`;
}

/** Undefined for all that has no text of its own. */
function formatTyped({ high, low }: ExtendedCommunity): string | undefined {
  const type = high >>> 16;
  if (type === LINK_BANDWIDTH) return formatLinkBandwidth(high & 0xffff, low);
  const name = SUBTYPE_NAMES.get(type & 0xff);
  if (name === undefined) return undefined;
  switch (type >>> 8) {
    case Layout.twoOctetAs:
      return `${name}:${high & 0xffff}:${low}`;
    case Layout.ipv4: {
      const bits = ((high & 0xffff) << 16) | (low >>> 16);
      return `${name}:${formatAddress({ family: 'ipv4', bits })}:${low & 0xffff}`;
    }
    case Layout.fourOctetAs: {
      const asn = (((high & 0xffff) << 16) | (low >>> 16)) >>> 0;
      return `${name}:${asn}${asn > 0xffff ? '' : 'L'}:${low & 0xffff}`;
    }
    default:
      return undefined;
  }
}

/** The fewest digits that read back to the same IEEE single; undefined for what is no amount (NaN, infinite, negative). */
function formatLinkBandwidth(asn: number, bits: number): string | undefined {
  scratch.setUint32(0, bits);
  const value = scratch.getFloat32(0);
  if (bits === 0) return `link-bandwidth:${asn}:0`;
  if (!Number.isFinite(value) || bits >>> 31 === 1) return undefined;
  for (let digits = 0; digits < 9; digits++) {
    const text = value.toExponential(digits);
    if (Math.fround(Number(text)) === value) {
      return `link-bandwidth:${asn}:${text.replace('+', '')}`;
    }
  }
  return undefined;
}

/**
 * Any of the texts above; undefined where it is none of them.
 *
 * @example
 * parseExtendedCommunity('rt:65000:100'); // { high: 0x0002fde8, low: 100 }
 */
export function parseExtendedCommunity(text: string): ExtendedCommunity | undefined {
  if (/^0x[0-9a-f]{16}$/i.test(text)) {
    return {
      high: Number.parseInt(text.slice(2, 10), 16),
      low: Number.parseInt(text.slice(10), 16),
    };
  }
  const [name, administrator, assigned, ...more] = text.split(':');
  if (more.length > 0 || administrator === undefined || assigned === undefined) return undefined;
  if (name === 'link-bandwidth') return parseLinkBandwidth(administrator, assigned);
  const subtype = SUBTYPES.get(name ?? '');
  return subtype === undefined ? undefined : parseTarget(subtype, administrator, assigned);
}

function parseTarget(
  subtype: number,
  administrator: string,
  assigned: string,
): ExtendedCommunity | undefined {
  const small = parseDecimal(administrator, 0xffff);
  if (small !== undefined) {
    const low = parseDecimal(assigned, 0xffffffff);
    return low === undefined
      ? undefined
      : { high: joinType(Layout.twoOctetAs, subtype, small), low };
  }
  const local = parseDecimal(assigned, 0xffff);
  if (local === undefined) return undefined;
  const asn = parseDecimal(administrator.replace(/L$/, ''), 0xffffffff);
  if (asn !== undefined) return joinWide(Layout.fourOctetAs, subtype, asn, local);
  const address = parseAddress(administrator);
  if (address?.family !== 'ipv4') return undefined;
  return joinWide(Layout.ipv4, subtype, address.bits, local);
}

function joinType(layout: number, subtype: number, rest: number): number {
  return ((layout << 24) | (subtype << 16) | rest) >>> 0;
}

function joinWide(
  layout: number,
  subtype: number,
  administrator: number,
  local: number,
): ExtendedCommunity {
  return {
    high: joinType(layout, subtype, administrator >>> 16),
    low: (((administrator & 0xffff) << 16) | local) >>> 0,
  };
}

function parseLinkBandwidth(asnText: string, amount: string): ExtendedCommunity | undefined {
  const asn = parseDecimal(asnText, 0xffff);
  if (asn === undefined || !/^[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?$/i.test(amount)) {
    return undefined;
  }
  const value = Math.fround(Number(amount));
  if (!Number.isFinite(value)) return undefined;
  scratch.setFloat32(0, value);
  return { high: ((LINK_BANDWIDTH << 16) | asn) >>> 0, low: scratch.getUint32(0) };
}

function hex32(value: number): string {
  return value.toString(16).padStart(8, '0');
}

/**
 * Twenty octets of RFC 5701: type, subtype, IPv6 address, local number.
 *
 * @example
 * formatIpv6ExtendedCommunity(octets); // 'rt:[2001:db8::1]:100'
 */
export function formatIpv6ExtendedCommunity(value: Uint8Array): string {
  const name = SUBTYPE_NAMES.get(value[1] ?? -1);
  if (value[0] !== 0 || name === undefined) return `0x${formatHex(value)}`;
  const address = formatAddress(ipv6At(value, 2));
  return `${name}:[${address}]:${u16At(value, 18)}`;
}

/**
 * Twenty octets from the text; undefined where it is none.
 *
 * @example
 * parseIpv6ExtendedCommunity('rt:[2001:db8::1]:100')?.length; // 20
 */
export function parseIpv6ExtendedCommunity(text: string): Uint8Array | undefined {
  if (/^0x[0-9a-f]{40}$/i.test(text)) return parseHex(text.slice(2));
  const match = /^(rt|soo):\[([0-9a-f:.]+)\]:([0-9]+)$/i.exec(text);
  const subtype = SUBTYPES.get(match?.[1] ?? '');
  const address = parseAddress(match?.[2] ?? '');
  const local = parseDecimal(match?.[3], 0xffff);
  if (subtype === undefined || address?.family !== 'ipv6' || local === undefined) return undefined;
  return new ByteWriter(20)
    .u8(0)
    .u8(subtype)
    .u32(address.w0)
    .u32(address.w1)
    .u32(address.w2)
    .u32(address.w3)
    .u16(local)
    .finish();
}
