/**
 * The 19 octets before every message (RFC 4271 §4.1) and what may be wrong with them (§6.1).
 *
 * ```
 * | marker: 16 octets of ones | length: 2 | type: 1 |
 * ```
 *
 * The checks go in the order of §6.1: marker, length, type. Because a length outside of all bounds is found before a single
 * octet of the body is read, nothing that a neighbour sends can make us hold more than the largest message.
 */

import { u8At, u16At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import {
  ErrorCode,
  HEADER_LENGTH,
  HeaderSubcode,
  MAX_EXTENDED_MESSAGE_LENGTH,
  MAX_MESSAGE_LENGTH,
  MessageType,
  messageTypeName,
} from './codes.ts';
import { BgpFault } from './error.ts';

const MARKER_LENGTH = 16;
const LENGTH_AT = 16;
const TYPE_AT = 18;

/** RFC 4271 §4.2 to §4.5, RFC 2918 §3; index is the type, 0 where there is no such type */
const MINIMUM_LENGTH = [0, 29, 23, 21, 19, 23] as const;

/** The type octet of the message at `start`, whose header has been checked. */
export function messageTypeAt(bytes: Uint8Array, start: number): number {
  return u8At(bytes, start + TYPE_AT);
}

/**
 * How long a message of this type may be (RFC 4271 §4.1). `extended`: RFC 8654 was agreed; OPEN and KEEPALIVE keep the old limit
 * (§4), since they may come before anything is agreed.
 */
export function maximumLength(type: number, extended: boolean): number {
  const large = extended && type !== MessageType.open && type !== MessageType.keepalive;
  return large ? MAX_EXTENDED_MESSAGE_LENGTH : MAX_MESSAGE_LENGTH;
}

/** The length of the message whose header is at `start`, all 19 octets being there. Throws the fault of RFC 4271 §6.1. */
export function checkHeader(bytes: Uint8Array, start: number, extended: boolean): number {
  for (let at = start; at < start + MARKER_LENGTH; at++) {
    if (bytes[at] !== 0xff) throw notSynchronized();
  }
  const length = u16At(bytes, start + LENGTH_AT);
  const type = u8At(bytes, start + TYPE_AT);
  if (length < HEADER_LENGTH || length > maximumLength(type, extended))
    throw badLength(length, type);
  const minimum = MINIMUM_LENGTH[type] ?? 0;
  if (minimum === 0) throw badType(type);
  if (length < minimum || (type === MessageType.keepalive && length !== HEADER_LENGTH)) {
    throw badLength(length, type);
  }
  return length;
}

/** Checks a message that has to fill `start` to `end` exactly, and returns its type. */
export function checkWholeMessage(
  bytes: Uint8Array,
  start: number,
  end: number,
  extended: boolean,
): number {
  const available = end - start;
  if (available < HEADER_LENGTH) {
    throw new BgpFault({
      code: ErrorCode.header,
      subcode: HeaderSubcode.badLength,
      detail: `${available} octets are less than a message header`,
    });
  }
  const length = checkHeader(bytes, start, extended);
  const type = u8At(bytes, start + TYPE_AT);
  if (length !== available) throw badLength(length, type, `of ${available} octets`);
  return type;
}

/** Opens a message; `finishMessage` fills in the length. */
export function writeHeader(writer: ByteWriter, type: number): void {
  writer.fill(0xff, MARKER_LENGTH).u16(0).u8(type);
}

/** Closes the message that began at `start`; more than fits is our own mistake, never a neighbour's. */
export function finishMessage(writer: ByteWriter, start: number, maximum: number): void {
  const length = writer.length - start;
  if (length > maximum) throw new RangeError(`a message of ${length} octets, ${maximum} allowed`);
  writer.patchU16(start + LENGTH_AT, length);
}

function notSynchronized(): BgpFault {
  return new BgpFault({
    code: ErrorCode.header,
    subcode: HeaderSubcode.notSynchronized,
    detail: 'the marker is not all ones',
  });
}

/** The Data field is the length as it came (RFC 4271 §6.1). */
function badLength(length: number, type: number, of = ''): BgpFault {
  const what = [messageTypeName(type), of].filter((word) => word !== '').join(' ');
  return new BgpFault({
    code: ErrorCode.header,
    subcode: HeaderSubcode.badLength,
    data: Uint8Array.of(length >>> 8, length),
    detail: `${what}: the length field says ${length}`,
  });
}

/** The Data field is the type as it came (RFC 4271 §6.1). */
function badType(type: number): BgpFault {
  return new BgpFault({
    code: ErrorCode.header,
    subcode: HeaderSubcode.badType,
    data: Uint8Array.of(type),
    detail: `there is no message of type ${type}`,
  });
}
