/**
 * Path attributes: the table of all that we know, and the walk over a list of them.
 *
 *   flags (1)  type code (1)  length (1, or 2 with the Extended Length flag)  value
 *
 * What holds for every attribute is done here, once, in front of its row: the length against the end of the list, a second
 * occurrence, the Optional and Transitive flags, attributes that only an internal neighbour may send. RFC 4271 §4.3 and
 * §6.3, RFC 7606 §3 and §4. An attribute with no row is kept as it came if it is optional; a well-known one that we do not
 * know is still a session reset, since RFC 7606 did not touch that case of RFC 4271 §6.3.
 */

import { u8At, u16At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import { COMMUNITY_ROWS } from './attribute-community.ts';
import type { AttributeRow, Decoding } from './attribute-decoding.ts';
import { OPAQUE_ROWS } from './attribute-opaque.ts';
import { mergeFourOctets, PATH_ROWS } from './attribute-path.ts';
import { REACHABILITY_ROWS } from './attribute-reachability.ts';
import { REFLECTION_ROWS } from './attribute-reflection.ts';
import { AttributeCode, AttributeFlag, attributeName, UpdateSubcode } from './codes.ts';
import type { PathAttributes, UnknownAttribute } from './message.ts';
import type { CodecContext } from './negotiate.ts';

/** All attributes that we interpret, in ascending order of their codes (the order in which they are written). */
export const ATTRIBUTE_ROWS: readonly AttributeRow[] = [
  ...PATH_ROWS,
  ...COMMUNITY_ROWS,
  ...REACHABILITY_ROWS,
  ...REFLECTION_ROWS,
  ...OPAQUE_ROWS,
].sort((a, b) => a.code - b.code);

/** indexed by type code, with a place for each of the 256 so that no lookup misses the array */
const BY_CODE: readonly (AttributeRow | undefined)[] = Array.from({ length: 256 }, (_, code) =>
  ATTRIBUTE_ROWS.find((row) => row.code === code),
);

const KIND_FLAGS = AttributeFlag.optional | AttributeFlag.transitive;

/** Reads the list between two offsets into `d`; throws only where the session has to be reset. */
export function decodeAttributes(d: Decoding, start: number, end: number): void {
  const bytes = d.bytes;
  let at = start;
  while (at < end) {
    const flags = u8At(bytes, at);
    const headLength = (flags & AttributeFlag.extendedLength) === 0 ? 3 : 4;
    const valueStart = at + headLength;
    if (valueStart > end) {
      noRoom(d, at, end);
      break;
    }
    const code = u8At(bytes, at + 1);
    const valueEnd = valueStart + (headLength === 3 ? u8At(bytes, at + 2) : u16At(bytes, at + 2));
    d.code = code;
    d.head = at;
    d.end = valueEnd;
    if (valueEnd > end) {
      noRoom(d, at, end);
      break;
    }
    at = valueEnd;
    decodeOne(d, flags, valueStart, valueEnd);
  }
  if (d.context.internal !== undefined && !d.context.as4) mergeFourOctets(d);
}

/** The attribute at hand, which lies inside the list: what holds for all of them, then its row. */
function decodeOne(d: Decoding, flags: number, start: number, end: number): void {
  const row = BY_CODE[d.code];
  d.row = row;
  if (d.isRepeated(d.code)) repeated(d);
  else if (row === undefined) keepUnknown(d, flags, start);
  else if (row.internalOnly === true && d.context.internal === false) {
    // RFC 7606 §7.5, §7.9, §7.10: dropped whatever it looks like
    d.discard(
      UpdateSubcode.attributeFlags,
      `${attributeName(row.code)}: not valid from an external neighbour`,
    );
  } else if (((flags ^ row.flags) & KIND_FLAGS) === 0) row.decode(d, start, end);
  else {
    wrongFlags(d, row, flags);
    // the routes in it are to be treated as withdrawn too, so they have to be read
    if (carriesRoutes(row.code)) row.decode(d, start, end);
  }
}

function carriesRoutes(code: number | undefined): boolean {
  return code === AttributeCode.mpReach || code === AttributeCode.mpUnreach;
}

/** The list ends inside an attribute (RFC 7606 §4): the routes can still be found, unless they were in this very one. */
function noRoom(d: Decoding, head: number, end: number): void {
  d.row = undefined;
  d.head = head;
  d.end = end;
  const code = end - head > 1 ? u8At(d.bytes, head + 1) : undefined;
  const detail =
    code === undefined
      ? 'one octet is left behind the last attribute'
      : `${attributeName(code)} runs past the end of the attribute list`;
  if (carriesRoutes(code)) d.reset(UpdateSubcode.malformedAttributeList, detail);
  d.withdraw(UpdateSubcode.malformedAttributeList, detail);
}

/** RFC 7606 §3 g: the first one counts, except where two lists of routes contradict each other. */
function repeated(d: Decoding): void {
  const detail = `${attributeName(d.code)} came more than once`;
  if (carriesRoutes(d.code)) d.reset(UpdateSubcode.malformedAttributeList, detail);
  d.discard(UpdateSubcode.malformedAttributeList, detail);
}

/** RFC 7606 §3 c: treat-as-withdraw unless the attribute's own RFC says otherwise. */
function wrongFlags(d: Decoding, row: AttributeRow, flags: number): void {
  const detail = `${attributeName(row.code)}: flags 0x${flags.toString(16).padStart(2, '0')} conflict with its type`;
  if (row.discardOnFlags === true) d.discard(UpdateSubcode.attributeFlags, detail);
  else d.withdraw(UpdateSubcode.attributeFlags, detail);
}

function keepUnknown(d: Decoding, flags: number, valueStart: number): void {
  if ((flags & AttributeFlag.optional) === 0) {
    d.reset(
      UpdateSubcode.unrecognizedWellKnown,
      `attribute ${d.code} is well-known and unknown to us`,
    );
  }
  d.keep(valueStart);
}

/**
 * Appends all attributes but MP_REACH_NLRI and MP_UNREACH_NLRI, in ascending order of their codes (RFC 4271 §5).
 *
 * @example
 * encodeAttributes({ origin: 'igp', asPath: [], med: 10 }, context, writer);
 */
export function encodeAttributes(
  attributes: PathAttributes,
  context: CodecContext,
  writer: ByteWriter,
): void {
  const unknown = (attributes.unknown ?? []).toSorted((a, b) => a.code - b.code);
  let next = 0;
  for (const row of ATTRIBUTE_ROWS) {
    for (; next < unknown.length; next++) {
      const other = unknown[next];
      if (other === undefined || other.code > row.code) break;
      writeUnknown(writer, other);
    }
    if (!carriesRoutes(row.code)) writeRow(writer, row, attributes, context);
  }
  for (const other of unknown.slice(next)) writeUnknown(writer, other);
}

/** Appends MP_REACH_NLRI and MP_UNREACH_NLRI: the very first attributes of an UPDATE (RFC 7606 §5.1). */
export function encodeReachability(
  attributes: PathAttributes,
  context: CodecContext,
  writer: ByteWriter,
): void {
  for (const row of REACHABILITY_ROWS) writeRow(writer, row, attributes, context);
}

function writeRow(
  writer: ByteWriter,
  row: AttributeRow,
  attributes: PathAttributes,
  context: CodecContext,
): void {
  const size = row.size(attributes, context);
  if (size === undefined) return;
  writeHead(writer, row.flags, row.code, size);
  row.encode(attributes, context, writer);
}

function writeUnknown(writer: ByteWriter, { flags, code, value }: UnknownAttribute): void {
  writeHead(writer, flags, code, value.length);
  writer.bytes(value);
}

function writeHead(writer: ByteWriter, flags: number, code: number, length: number): void {
  if (length > 0xffff) throw new Error(`${attributeName(code)} of ${length} octets does not fit`);
  if (length > 255 || (flags & AttributeFlag.extendedLength) !== 0) {
    writer
      .u8(flags | AttributeFlag.extendedLength)
      .u8(code)
      .u16(length);
  } else {
    writer.u8(flags).u8(code).u8(length);
  }
}
