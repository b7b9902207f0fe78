/**
 * Packs prefixes that share attributes into full messages. It writes whole messages, header included, into one buffer and
 * makes nothing per prefix. It knows no table and no order: adj-rib-out.ts decides what is sent and when.
 *
 * RFC 4271 §9.2; RFC 4760 §3–4; RFC 7606 §5.1 (MP attributes come first); RFC 8654; RFC 7911;
 * RFC 4724 §2 (End-of-RIB); RFC 7313 §4 (begin and end of a refresh).
 */

import { ByteWriter } from '../bytes/writer.ts';
import type { Address, Family, Prefix } from '../net/address.ts';
import { addressToBytes } from '../net/address.ts';
import { encodeAttributes } from './attribute.ts';
import {
  AttributeCode,
  AttributeFlag,
  HEADER_LENGTH,
  MAX_EXTENDED_MESSAGE_LENGTH,
  MAX_MESSAGE_LENGTH,
  MessageType,
} from './codes.ts';
import { familyId, hasUnicast } from './family.ts';
import { finishMessage, maximumLength, writeHeader } from './header.ts';
import type { PathAttributes } from './message.ts';
import type { Negotiated } from './negotiate.ts';
import { writeNlri } from './nlri.ts';
import type { Refusal, SessionView } from './pack.ts';
import { refused, sessionAttributes } from './pack.ts';
import type { RouteAttributes } from './route.ts';

/** The attributes of an UPDATE as bytes, ready to be put around prefixes of one family. */
export interface PreparedAttributes {
  readonly kind: 'prepared';
  readonly bytes: Uint8Array;
  /** the next hop field of MP_REACH_NLRI; absent for the classic NLRI field */
  readonly mpNextHop?: Uint8Array;
  /** how long a message with these attributes may get */
  readonly messageLimit: number;
}

/**
 * Where both sides take 65,535 octets we still stop near 16 KB: a receiver starts on a message when its last octet is there, and
 * at 3,000 prefixes a message the header and attributes are already nothing. More is used only where attributes need it.
 */
const EXTENDED_CHUNK = 16_384;

/** Fixed octets of an UPDATE: header and the two length fields. */
const UPDATE_OVERHEAD = HEADER_LENGTH + 4;
/** flags, type and two octets of length */
const EXTENDED_ATTRIBUTE_HEADER = 4;
/** AFI, SAFI, length of next hop, reserved */
const MP_REACH_FIXED = 5;

/** The largest message that is made without need. */
export function usualMessageLimit(negotiated: Negotiated): number {
  return negotiated.extendedMessage ? EXTENDED_CHUNK : MAX_MESSAGE_LENGTH;
}

/** Reused by every call: ten thousand attribute sets would otherwise be as many buffers outside the heap. */
const scratch = new ByteWriter(512);

export function prepareAttributes(
  route: RouteAttributes,
  family: Family,
  view: SessionView,
): PreparedAttributes | Refusal {
  const chosen = sessionAttributes(route, family, view);
  if (chosen.kind === 'refused') return chosen;
  const { negotiated } = view;
  const most = maximumLength(MessageType.update, negotiated.extendedMessage);
  const least = leastOctets(chosen.attributes);
  if (least > MAX_EXTENDED_MESSAGE_LENGTH) return tooLarge(least, most);
  scratch.truncate(0);
  encodeAttributes(chosen.attributes, negotiated, scratch);
  const bytes = scratch.finish();
  const mpNextHop = chosen.mpNextHops && joinAddresses(chosen.mpNextHops);
  const mp = mpNextHop ? EXTENDED_ATTRIBUTE_HEADER + MP_REACH_FIXED + mpNextHop.length : 0;
  const fixed = UPDATE_OVERHEAD + mp + bytes.length;
  const needed = fixed + largestDestination(family, negotiated);
  if (needed > most) return tooLarge(needed, most);
  // A prefix a message would follow if the attributes alone filled the usual size.
  const usual = usualMessageLimit(negotiated);
  const messageLimit = fixed > usual / 2 ? most : usual;
  return mpNextHop
    ? { kind: 'prepared', bytes, mpNextHop, messageLimit }
    : { kind: 'prepared', bytes, messageLimit };
}

function tooLarge(needed: number, most: number): Refusal {
  const detail = `the attributes and one prefix take ${needed} octets, and a message holds ${most}`;
  return refused('too-large', detail);
}

/** Below what the attributes take, and enough to tell that one of them alone is past what the codec can write. */
function leastOctets(attributes: PathAttributes): number {
  let octets = 4 * (attributes.communities?.length ?? 0);
  octets += 8 * (attributes.extendedCommunities?.length ?? 0);
  octets += 20 * (attributes.ipv6ExtendedCommunities?.length ?? 0);
  octets += 12 * (attributes.largeCommunities?.length ?? 0);
  for (const { asns } of attributes.asPath ?? []) octets += 4 * asns.length + 2;
  for (const { value } of attributes.unknown ?? []) octets += value.length;
  return octets;
}

function largestDestination(family: Family, negotiated: Negotiated): number {
  const pathId = hasUnicast(negotiated.addPathSend, family) ? 4 : 0;
  return pathId + 1 + (family === 'ipv4' ? 4 : 16);
}

function joinAddresses(addresses: readonly Address[]): Uint8Array {
  const joined = new ByteWriter(32);
  for (const address of addresses) joined.bytes(addressToBytes(address));
  return joined.finish();
}

/** A prefix on its way out. */
export interface Destination {
  readonly prefix: Prefix;
  /** written only where add-path is in use */
  readonly pathId: number;
}

/** Where the packer takes prefixes from: it looks at the head and says when it is in a message. */
export interface DestinationSource {
  head(): Destination | undefined;
  taken(): void;
}

/** How prefixes of one family are written on a session. */
export interface NlriFormat {
  readonly family: Family;
  readonly addPath: boolean;
}

/** Writes one UPDATE that announces as many of the prefixes as it holds. There must be one at least. */
export function writeAnnouncement(
  writer: ByteWriter,
  prepared: PreparedAttributes,
  source: DestinationSource,
  format: NlriFormat,
): void {
  const { bytes, mpNextHop, messageLimit } = prepared;
  const start = openMessage(writer, MessageType.update);
  const end = start + messageLimit;
  writer.u16(0);
  const attributesLength = writer.reserveU16();
  if (mpNextHop === undefined) {
    writer.bytes(bytes);
    patchLength(writer, attributesLength);
    writeDestinations(writer, source, end, format.addPath);
  } else {
    const { afi, safi } = familyId(format.family);
    const valueLength = openMpAttribute(writer, AttributeCode.mpReach);
    writer.u16(afi).u8(safi).u8(mpNextHop.length).bytes(mpNextHop).u8(0);
    writeDestinations(writer, source, end - bytes.length, format.addPath);
    patchLength(writer, valueLength);
    writer.bytes(bytes);
    patchLength(writer, attributesLength);
  }
  closeMessage(writer, start);
}

/**
 * Writes one UPDATE that withdraws as many of the prefixes as it holds. IPv4 unicast always uses the classic field: it
 * is the same table for the receiver, whichever way a route came (RFC 4760 §4).
 */
export function writeWithdrawal(
  writer: ByteWriter,
  source: DestinationSource,
  format: NlriFormat,
  messageLimit: number,
): void {
  const start = openMessage(writer, MessageType.update);
  const end = start + messageLimit;
  const withdrawnLength = writer.reserveU16();
  if (format.family === 'ipv4') {
    writeDestinations(writer, source, end - 2, format.addPath);
    patchLength(writer, withdrawnLength);
    writer.u16(0);
  } else {
    writer.patchU16(withdrawnLength, 0);
    const attributesLength = writer.reserveU16();
    writeMpUnreach(writer, format.family, () =>
      writeDestinations(writer, source, end, format.addPath),
    );
    patchLength(writer, attributesLength);
  }
  closeMessage(writer, start);
}

/** RFC 4724 §2: an UPDATE with nothing in it, or with an empty MP_UNREACH_NLRI of the family. */
export function writeEndOfRib(writer: ByteWriter, family: Family): void {
  const start = openMessage(writer, MessageType.update);
  writer.u16(0);
  const attributesLength = writer.reserveU16();
  if (family === 'ipv6') writeMpUnreach(writer, family, () => {});
  patchLength(writer, attributesLength);
  closeMessage(writer, start);
}

export function writeRefreshMark(writer: ByteWriter, family: Family, subtype: number): void {
  const { afi, safi } = familyId(family);
  const start = openMessage(writer, MessageType.routeRefresh);
  writer.u16(afi).u8(subtype).u8(safi);
  closeMessage(writer, start);
}

function writeMpUnreach(writer: ByteWriter, family: Family, writeAll: () => void): void {
  const { afi, safi } = familyId(family);
  const valueLength = openMpAttribute(writer, AttributeCode.mpUnreach);
  writer.u16(afi).u8(safi);
  writeAll();
  patchLength(writer, valueLength);
}

/** Takes prefixes from the source until the next one would go past `end`. */
function writeDestinations(
  writer: ByteWriter,
  source: DestinationSource,
  end: number,
  addPath: boolean,
): void {
  const extra = addPath ? 5 : 1;
  for (let next = source.head(); next !== undefined; next = source.head()) {
    const { prefix } = next;
    if (writer.length + extra + ((prefix.length + 7) >> 3) > end) return;
    if (addPath) writer.u32(next.pathId);
    writeNlri(writer, prefix, false);
    source.taken();
  }
}

function openMpAttribute(writer: ByteWriter, code: number): number {
  return writer
    .u8(AttributeFlag.optional | AttributeFlag.extendedLength)
    .u8(code)
    .reserveU16();
}

function openMessage(writer: ByteWriter, type: number): number {
  const start = writer.length;
  writeHeader(writer, type);
  return start;
}

function closeMessage(writer: ByteWriter, start: number): void {
  finishMessage(writer, start, MAX_EXTENDED_MESSAGE_LENGTH);
}

/** Puts into a two-octet field how much was written behind it. */
function patchLength(writer: ByteWriter, at: number): void {
  writer.patchU16(at, writer.length - at - 2);
}
