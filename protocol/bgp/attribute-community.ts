/**
 * The attributes that are lists of communities: COMMUNITIES (RFC 1997), EXTENDED COMMUNITIES (RFC 4360), IPv6 ADDRESS SPECIFIC
 * EXTENDED COMMUNITIES (RFC 5701) and LARGE_COMMUNITY (RFC 8092).
 *
 * All four are optional and transitive, and malformed where the length is not a multiple of one entry, zero included:
 * treat-as-withdraw (RFC 7606 §7.8, §7.14, §7.15, RFC 8092 §6). The values themselves are never an error.
 */

import type { ByteWriter } from '../bytes/writer.ts';
import { type AttributeRow, type Decoding, OPTIONAL_TRANSITIVE } from './attribute-decoding.ts';
import { AttributeCode, UpdateSubcode } from './codes.ts';
import { readCommunities, readLargeCommunities } from './community.ts';
import { readExtendedCommunities } from './extended-community.ts';

const IPV6_EXTENDED_SIZE = 20;

const communities: AttributeRow = {
  code: AttributeCode.communities,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    if (isList(d, end - start, 4)) d.communities = readCommunities(d.bytes, start, end);
  },
  size: ({ communities: list }) => listSize(list, 4),
  encode(attributes, _context, writer) {
    for (const value of attributes.communities ?? []) writer.u32(value);
  },
};

const extendedCommunities: AttributeRow = {
  code: AttributeCode.extendedCommunities,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    if (isList(d, end - start, 8)) {
      d.extendedCommunities = readExtendedCommunities(d.bytes, start, end);
    }
  },
  size: ({ extendedCommunities: list }) => listSize(list, 8),
  encode(attributes, _context, writer) {
    for (const { high, low } of attributes.extendedCommunities ?? []) writer.u32(high).u32(low);
  },
};

const ipv6ExtendedCommunities: AttributeRow = {
  code: AttributeCode.ipv6ExtendedCommunities,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    if (!isList(d, end - start, IPV6_EXTENDED_SIZE)) return;
    const list: Uint8Array[] = [];
    for (let at = start; at < end; at += IPV6_EXTENDED_SIZE) {
      list.push(d.bytes.slice(at, at + IPV6_EXTENDED_SIZE));
    }
    d.ipv6ExtendedCommunities = list;
  },
  size: ({ ipv6ExtendedCommunities: list }) => listSize(list, IPV6_EXTENDED_SIZE),
  encode(attributes, _context, writer) {
    for (const value of attributes.ipv6ExtendedCommunities ?? []) writeFixed(writer, value);
  },
};

const largeCommunities: AttributeRow = {
  code: AttributeCode.largeCommunities,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    if (isList(d, end - start, 12)) d.largeCommunities = readLargeCommunities(d.bytes, start, end);
  },
  size: ({ largeCommunities: list }) => listSize(list, 12),
  encode(attributes, _context, writer) {
    for (const { global, local1, local2 } of attributes.largeCommunities ?? []) {
      writer.u32(global).u32(local1).u32(local2);
    }
  },
};

export const COMMUNITY_ROWS: readonly AttributeRow[] = [
  communities,
  extendedCommunities,
  ipv6ExtendedCommunities,
  largeCommunities,
];

function isList(d: Decoding, length: number, entry: number): boolean {
  if (length > 0 && length % entry === 0) return true;
  const detail = `length ${length} is not a multiple of ${entry} above 0`;
  d.fail(UpdateSubcode.attributeLength, detail);
  return false;
}

/** An empty list is not sent: on the wire it would be malformed. */
function listSize(list: readonly unknown[] | undefined, entry: number): number | undefined {
  return list === undefined || list.length === 0 ? undefined : list.length * entry;
}

function writeFixed(writer: ByteWriter, value: Uint8Array): void {
  if (value.length !== IPV6_EXTENDED_SIZE) {
    throw new Error(`an IPv6 extended community has 20 octets, not ${value.length}`);
  }
  writer.bytes(value);
}
