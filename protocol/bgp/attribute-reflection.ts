/**
 * Attributes that guard against loops and leaks: ORIGINATOR_ID and CLUSTER_LIST of route reflection (RFC 4456) and Only to Customer
 * (RFC 9234). What is malformed: RFC 7606 §7.9 and §7.10, RFC 9234 §5.
 */

import { i32At, u32At } from '../bytes/peek.ts';
import type { Ipv4Address } from '../net/address.ts';
import { type AttributeRow, OPTIONAL, OPTIONAL_TRANSITIVE } from './attribute-decoding.ts';
import { AttributeCode } from './codes.ts';

const originatorId: AttributeRow = {
  code: AttributeCode.originatorId,
  flags: OPTIONAL,
  onFault: 'treat-as-withdraw',
  internalOnly: true,
  decode(d, start, end) {
    if (end - start !== 4) return d.wrongLength(start, end, '4 octets');
    d.originatorId = { family: 'ipv4', bits: i32At(d.bytes, start) };
  },
  size: (attributes) => (attributes.originatorId === undefined ? undefined : 4),
  encode(attributes, _context, writer) {
    writer.u32(attributes.originatorId?.bits ?? 0);
  },
};

const clusterList: AttributeRow = {
  code: AttributeCode.clusterList,
  flags: OPTIONAL,
  onFault: 'treat-as-withdraw',
  internalOnly: true,
  decode(d, start, end) {
    if (end === start || (end - start) % 4 !== 0) {
      return d.wrongLength(start, end, 'a multiple of 4 octets');
    }
    const list: Ipv4Address[] = [];
    for (let at = start; at < end; at += 4) list.push({ family: 'ipv4', bits: i32At(d.bytes, at) });
    d.clusterList = list;
  },
  size: ({ clusterList: list }) =>
    list === undefined || list.length === 0 ? undefined : list.length * 4,
  encode(attributes, _context, writer) {
    for (const { bits } of attributes.clusterList ?? []) writer.u32(bits);
  },
};

const otc: AttributeRow = {
  code: AttributeCode.otc,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    if (end - start !== 4) return d.wrongLength(start, end, '4 octets');
    d.otc = u32At(d.bytes, start);
  },
  size: (attributes) => (attributes.otc === undefined ? undefined : 4),
  encode(attributes, _context, writer) {
    writer.u32(attributes.otc ?? 0);
  },
};

export const REFLECTION_ROWS: readonly AttributeRow[] = [originatorId, clusterList, otc];
