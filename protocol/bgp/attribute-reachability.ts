/**
 * MP_REACH_NLRI and MP_UNREACH_NLRI: routes of any family (RFC 4760 §3 and §4).
 *
 *   AFI (2)  SAFI (1)  next hop length (1)  next hop  reserved (1)  NLRI        MP_REACH_NLRI
 *   AFI (2)  SAFI (1)  withdrawn routes                                         MP_UNREACH_NLRI
 *
 * Next hops: four octets for IPv4, 16 for IPv6, 32 for a global and a link-local one (RFC 2545 §3), and 16 or 32 for IPv4
 * where that was agreed (RFC 8950 §3). A next hop of another length hides where the NLRI start, and NLRI that cannot be
 * read cannot be withdrawn: all faults here reset the session (RFC 7606 §5.3, §7.11) with "Optional Attribute Error"
 * (RFC 4760 §7). Families that we do not interpret are kept as octets once their frames add up (opaque-nlri.ts).
 */

import { u8At, u16At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import { type Address, ipv4At, ipv6At } from '../net/address.ts';
import { type AttributeRow, type Decoding, OPTIONAL } from './attribute-decoding.ts';
import { Afi, AttributeCode, attributeName, UpdateSubcode } from './codes.ts';
import { type FamilyId, hasFamily, isPrefixFamily } from './family.ts';
import type { MpReach, MpUnreach, Nlri, PathAttributes } from './message.ts';
import type { CodecContext } from './negotiate.ts';
import { nlriListSize, readIpv4Nlri, readIpv6Nlri, writeNlri } from './nlri.ts';
import { isWellFramed, type OpaqueFamily } from './opaque-nlri.ts';

const mpReach: AttributeRow = {
  code: AttributeCode.mpReach,
  flags: OPTIONAL,
  onFault: 'reset',
  decode(d, start, end) {
    d.mpReach = isAbbreviated(d, start, end)
      ? readAbbreviated(d, start, end)
      : readReach(d, start, end);
  },
  size({ mpReach: value }, context) {
    if (value === undefined) return undefined;
    if (value.kind === 'opaque') return 5 + value.nextHop.length + value.nlri.length;
    const withPathId = sendsPathId(context, value);
    return 5 + nextHopsSize(value.nextHops) + nlriListSize(value.nlri, withPathId);
  },
  encode(attributes, context, writer) {
    if (attributes.mpReach !== undefined) writeReach(writer, attributes.mpReach, context);
  },
};

const mpUnreach: AttributeRow = {
  code: AttributeCode.mpUnreach,
  flags: OPTIONAL,
  onFault: 'reset',
  decode(d, start, end) {
    d.mpUnreach = readUnreach(d, start, end);
  },
  size({ mpUnreach: value }, context) {
    if (value === undefined) return undefined;
    if (value.kind === 'opaque') return 3 + value.withdrawn.length;
    return 3 + nlriListSize(value.withdrawn, sendsPathId(context, value));
  },
  encode(attributes: PathAttributes, context: CodecContext, writer: ByteWriter) {
    const value = attributes.mpUnreach;
    if (value === undefined) return;
    writer.u16(value.afi).u8(value.safi);
    if (value.kind === 'opaque') {
      writer.bytes(value.withdrawn);
      return;
    }
    const withPathId = sendsPathId(context, value);
    for (const nlri of value.withdrawn) writeNlri(writer, nlri, withPathId);
  },
};

export const REACHABILITY_ROWS: readonly AttributeRow[] = [mpReach, mpUnreach];

function sendsPathId(context: CodecContext, family: FamilyId): boolean {
  return hasFamily(context.addPathSend, family.afi, family.safi);
}

function readReach(d: Decoding, start: number, end: number): MpReach {
  const bytes = d.bytes;
  if (end - start < 5) return malformed(d, `length ${end - start} is too short`);
  const afi = u16At(bytes, start);
  const safi = u8At(bytes, start + 2);
  const hopLength = u8At(bytes, start + 3);
  const hopStart = start + 4;
  const nlriStart = hopStart + hopLength + 1;
  if (nlriStart > end) return malformed(d, `the next hop of ${hopLength} octets does not fit`);
  if (!isPrefixFamily(afi, safi)) {
    requireFrames(d, nlriStart, end, { afi, safi, isWithdrawn: false });
    const nextHop = bytes.slice(hopStart, nlriStart - 1);
    return { kind: 'opaque', afi, safi, nextHop, nlri: bytes.slice(nlriStart, end) };
  }
  if (!isNextHopLength(d, afi, safi, hopLength)) {
    return malformed(d, `a next hop of ${hopLength} octets in family ${afi}/${safi}`);
  }
  const nextHops = readNextHops(bytes, hopStart, hopLength);
  return {
    kind: 'prefixes',
    afi,
    safi,
    nextHops,
    nlri: readList(d, nlriStart, end, { afi, safi }),
  };
}

function isNextHopLength(d: Decoding, afi: number, safi: number, length: number): boolean {
  if (afi === Afi.ipv6) return length === 16 || length === 32;
  if (length === 4) return true;
  return (length === 16 || length === 32) && hasFamily(d.context.extendedNextHop, afi, safi);
}

function readNextHops(bytes: Uint8Array, at: number, length: number): Address[] {
  if (length === 4) return [ipv4At(bytes, at)];
  const first = ipv6At(bytes, at);
  return length === 16 ? [first] : [first, ipv6At(bytes, at + 16)];
}

function readList(d: Decoding, start: number, end: number, family: FamilyId): Nlri[] {
  const withPathId = hasFamily(d.context.addPathReceive, family.afi, family.safi);
  const list =
    family.afi === Afi.ipv4
      ? readIpv4Nlri(d.bytes, start, end, withPathId)
      : readIpv6Nlri(d.bytes, start, end, withPathId);
  return list ?? malformed(d, 'a prefix is too long or does not fit');
}

function readUnreach(d: Decoding, start: number, end: number): MpUnreach {
  if (end - start < 3) return malformed(d, `length ${end - start} is too short`);
  const afi = u16At(d.bytes, start);
  const safi = u8At(d.bytes, start + 2);
  if (!isPrefixFamily(afi, safi)) {
    requireFrames(d, start + 3, end, { afi, safi, isWithdrawn: true });
    return { kind: 'opaque', afi, safi, withdrawn: d.bytes.slice(start + 3, end) };
  }
  return { kind: 'prefixes', afi, safi, withdrawn: readList(d, start + 3, end, { afi, safi }) };
}

function requireFrames(
  d: Decoding,
  start: number,
  end: number,
  family: Omit<OpaqueFamily, 'withPathId'>,
): void {
  const withPathId = hasFamily(d.context.addPathReceive, family.afi, family.safi);
  if (!isWellFramed(d.bytes, start, end, { ...family, withPathId })) {
    malformed(d, `the NLRI of family ${family.afi}/${family.safi} do not add up`);
  }
}

/** RFC 6396 §4.3.4; some writers put the whole attribute into TABLE_DUMP_V2 all the same, so the length decides. */
function isAbbreviated(d: Decoding, start: number, end: number): boolean {
  return d.ribFamily !== undefined && end > start && u8At(d.bytes, start) === end - start - 1;
}

function readAbbreviated(d: Decoding, start: number, end: number): MpReach {
  const { afi, safi } = d.ribFamily ?? { afi: 0, safi: 0 };
  const length = end - start - 1;
  if (!isPrefixFamily(afi, safi)) {
    const nextHop = d.bytes.slice(start + 1, end);
    return { kind: 'opaque', afi, safi, nextHop, nlri: new Uint8Array(0) };
  }
  if (length !== 4 && length !== 16 && length !== 32) {
    return malformed(d, `a next hop of ${length} octets in family ${afi}/${safi}`);
  }
  const nextHops = readNextHops(d.bytes, start + 1, length);
  return { kind: 'prefixes', afi, safi, nextHops, nlri: [] };
}

function malformed(d: Decoding, detail: string): never {
  return d.reset(UpdateSubcode.optionalAttribute, `${attributeName(d.code)}: ${detail}`);
}

function writeReach(writer: ByteWriter, value: MpReach, context: CodecContext): void {
  writer.u16(value.afi).u8(value.safi);
  if (value.kind === 'opaque') {
    writer.u8(value.nextHop.length).bytes(value.nextHop).u8(0).bytes(value.nlri);
    return;
  }
  writer.u8(nextHopsSize(value.nextHops));
  for (const address of value.nextHops) {
    if (address.family === 'ipv4') writer.u32(address.bits);
    else writer.u32(address.w0).u32(address.w1).u32(address.w2).u32(address.w3);
  }
  writer.u8(0);
  const withPathId = sendsPathId(context, value);
  for (const nlri of value.nlri) writeNlri(writer, nlri, withPathId);
}

function nextHopsSize(nextHops: readonly Address[]): number {
  let size = 0;
  for (const address of nextHops) size += address.family === 'ipv4' ? 4 : 16;
  return size;
}
