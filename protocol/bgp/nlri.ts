/**
 * Network Layer Reachability Information of IPv4 and IPv6, unicast and multicast: lists of prefixes, with a path
 * identifier in front of each where add-path is in use.
 *
 *   [ path identifier (4 octets) ]  length in bits (1 octet)  prefix (as many octets as the length needs)
 *
 * RFC 4271 §4.3, RFC 4760 §5, RFC 7911 §3. Bits behind the length are "irrelevant" (RFC 4271) and cleared here. A list that
 * cannot be read to its very end is always a session reset (RFC 7606 §5.3): nobody could say which routes it held. Which
 * NOTIFICATION that is depends on the place, so the readers only say how far they came.
 */

import { i32At, u8At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import type { Nlri } from './message.ts';

/** The list, or undefined where it is not well formed. */
export function readIpv4Nlri(
  bytes: Uint8Array,
  start: number,
  end: number,
  withPathId: boolean,
): Nlri[] | undefined {
  const list: Nlri[] = [];
  let at = start;
  while (at < end) {
    let pathId = 0;
    if (withPathId) {
      if (end - at < 5) return undefined;
      pathId = i32At(bytes, at) >>> 0;
      at += 4;
    }
    const length = u8At(bytes, at);
    const octets = (length + 7) >> 3;
    at++;
    if (length > 32 || octets > end - at) return undefined;
    const bits = maskedWord(bytes, at, length);
    at += octets;
    list.push(
      withPathId ? { family: 'ipv4', bits, length, pathId } : { family: 'ipv4', bits, length },
    );
  }
  return list;
}

/** The list, or undefined where it is not well formed. */
export function readIpv6Nlri(
  bytes: Uint8Array,
  start: number,
  end: number,
  withPathId: boolean,
): Nlri[] | undefined {
  const list: Nlri[] = [];
  let at = start;
  while (at < end) {
    let pathId = 0;
    if (withPathId) {
      if (end - at < 5) return undefined;
      pathId = i32At(bytes, at) >>> 0;
      at += 4;
    }
    const length = u8At(bytes, at);
    const octets = (length + 7) >> 3;
    at++;
    if (length > 128 || octets > end - at) return undefined;
    const w0 = maskedWord(bytes, at, length);
    const w1 = maskedWord(bytes, at + 4, length - 32);
    const w2 = maskedWord(bytes, at + 8, length - 64);
    const w3 = maskedWord(bytes, at + 12, length - 96);
    at += octets;
    list.push(
      withPathId
        ? { family: 'ipv6', w0, w1, w2, w3, length, pathId }
        : { family: 'ipv6', w0, w1, w2, w3, length },
    );
  }
  return list;
}

/** The first `length` bits (at most 32) at an offset as a signed word. Octets that the prefix does not have are not read. */
function maskedWord(bytes: Uint8Array, at: number, length: number): number {
  if (length >= 32) return i32At(bytes, at);
  if (length <= 0) return 0;
  let word = u8At(bytes, at) << 24;
  if (length > 8) word |= u8At(bytes, at + 1) << 16;
  if (length > 16) word |= u8At(bytes, at + 2) << 8;
  if (length > 24) word |= u8At(bytes, at + 3);
  return word & (-1 << (32 - length));
}

/** Appends one destination; with no path identifier of its own it gets 0. */
export function writeNlri(writer: ByteWriter, nlri: Nlri, withPathId: boolean): void {
  if (withPathId) writer.u32(nlri.pathId ?? 0);
  const length = nlri.length;
  writer.u8(length);
  if (nlri.family === 'ipv4') {
    writeBits(writer, nlri.bits, length);
    return;
  }
  writeBits(writer, nlri.w0, length);
  writeBits(writer, nlri.w1, length - 32);
  writeBits(writer, nlri.w2, length - 64);
  writeBits(writer, nlri.w3, length - 96);
}

function writeBits(writer: ByteWriter, word: number, length: number): void {
  if (length > 24) writer.u32(word);
  else if (length > 16) writer.u16(word >>> 16).u8((word >>> 8) & 255);
  else if (length > 8) writer.u16(word >>> 16);
  else if (length > 0) writer.u8(word >>> 24);
}

/** How many octets `writeNlri` will append. */
function nlriSize(nlri: Nlri, withPathId: boolean): number {
  return (withPathId ? 5 : 1) + ((nlri.length + 7) >> 3);
}

export function nlriListSize(list: readonly Nlri[], withPathId: boolean): number {
  let size = 0;
  for (const nlri of list) size += nlriSize(nlri, withPathId);
  return size;
}
