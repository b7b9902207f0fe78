/**
 * AS_PATH and AS4_PATH: segments of AS numbers, in two octets or four.
 *
 *   segment type (1 octet)  number of ASNs (1 octet)  the ASNs
 *
 * RFC 4271 §4.3 and §5.1.2, RFC 5065 (confederation segments), RFC 6793 (four octets; AS4_PATH carries the real path through
 * speakers of two octets, §4.2.3 puts it together again), RFC 7606 §7.2 and RFC 7607 (what is malformed).
 */

import { u8At, u16At, u32At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import { AS_TRANS } from '../net/asn.ts';
import type { AsPathSegment, AsPathSegmentType } from './message.ts';

export type AsnWidth = 2 | 4;

/** indexed by the segment type on the wire */
const SEGMENT_TYPES: readonly (AsPathSegmentType | undefined)[] = [
  undefined,
  'set',
  'sequence',
  'confed-sequence',
  'confed-set',
];
const SEGMENT_CODES: Readonly<Record<AsPathSegmentType, number>> = {
  set: 1,
  sequence: 2,
  'confed-sequence': 3,
  'confed-set': 4,
};
/** the count of a segment is one octet */
const MAX_SEGMENT = 255;

/** The segments, or a sentence that says what is wrong (RFC 7606 §7.2, RFC 7607 §2). */
export function readAsPath(
  bytes: Uint8Array,
  start: number,
  end: number,
  width: AsnWidth,
): AsPathSegment[] | string {
  const segments: AsPathSegment[] = [];
  let at = start;
  while (at < end) {
    if (end - at < 2) return 'one octet is left behind the last AS path segment';
    const type = SEGMENT_TYPES[u8At(bytes, at)];
    if (type === undefined) return `unknown AS path segment type ${u8At(bytes, at)}`;
    const count = u8At(bytes, at + 1);
    at += 2;
    if (count === 0) return 'an AS path segment holds no AS number';
    if (count * width > end - at) {
      return `an AS path segment of ${count} AS numbers runs past the end of the attribute`;
    }
    const asns = readAsns(bytes, at, count, width);
    if (asns === undefined) return 'AS number 0 in the AS path';
    at += count * width;
    segments.push({ type, asns });
  }
  return segments;
}

/** Undefined where one of them is 0. */
function readAsns(
  bytes: Uint8Array,
  start: number,
  count: number,
  width: AsnWidth,
): number[] | undefined {
  const asns: number[] = new Array(count);
  let at = start;
  for (let i = 0; i < count; i++) {
    const asn = width === 4 ? u32At(bytes, at) : u16At(bytes, at);
    if (asn === 0) return undefined;
    asns[i] = asn;
    at += width;
  }
  return asns;
}

/** Octets of the path on the wire. A segment of more than 255 AS numbers is written as several. */
export function asPathSize(path: readonly AsPathSegment[], width: AsnWidth): number {
  let size = 0;
  for (const { asns } of path) {
    size += Math.ceil(asns.length / MAX_SEGMENT) * 2 + asns.length * width;
  }
  return size;
}

/** AS numbers that do not fit into two octets become AS_TRANS (RFC 6793 §4.2.2). */
export function writeAsPath(
  writer: ByteWriter,
  path: readonly AsPathSegment[],
  width: AsnWidth,
): void {
  for (const { type, asns } of path) {
    for (let from = 0; from < asns.length; from += MAX_SEGMENT) {
      const to = Math.min(asns.length, from + MAX_SEGMENT);
      writer.u8(SEGMENT_CODES[type]).u8(to - from);
      for (let i = from; i < to; i++) {
        const asn = asns[i] ?? 0;
        if (width === 4) writer.u32(asn);
        else writer.u16(toTwoOctets(asn));
      }
    }
  }
}

export function toTwoOctets(asn: number): number {
  return asn > 0xffff ? AS_TRANS : asn;
}

function isConfederation(segment: AsPathSegment): boolean {
  return segment.type === 'confed-sequence' || segment.type === 'confed-set';
}

export function hasConfederation(path: readonly AsPathSegment[]): boolean {
  return path.some(isConfederation);
}

/** True where a two-octet AS_PATH would lose a number, so that an AS4_PATH has to go along. */
export function needsFourOctets(path: readonly AsPathSegment[]): boolean {
  for (const { asns } of path) {
    for (const asn of asns) if (asn > 0xffff) return true;
  }
  return false;
}

/** AS4_PATH never carries confederation segments (RFC 6793 §3). */
export function withoutConfederation(path: readonly AsPathSegment[]): readonly AsPathSegment[] {
  return hasConfederation(path) ? path.filter((segment) => !isConfederation(segment)) : path;
}

/** Path length as route selection counts it: a set is one, confederation segments are none (RFC 4271 §9.1.2.2, RFC 5065 §5.3). */
export function asPathLength(path: readonly AsPathSegment[]): number {
  let length = 0;
  for (const segment of path) length += segmentLength(segment);
  return length;
}

function segmentLength(segment: AsPathSegment): number {
  if (isConfederation(segment)) return 0;
  return segment.type === 'set' ? 1 : segment.asns.length;
}

/**
 * The path with its four-octet numbers put back: as much of the front of AS_PATH as AS4_PATH does not cover, then
 * AS4_PATH (RFC 6793 §4.2.3). An AS4_PATH longer than the AS_PATH is ignored.
 */
export function mergeAs4Path(
  path: readonly AsPathSegment[],
  as4Path: readonly AsPathSegment[],
): readonly AsPathSegment[] {
  const tail = withoutConfederation(as4Path);
  let missing = asPathLength(path) - asPathLength(tail);
  if (missing < 0) return path;
  const merged: AsPathSegment[] = [];
  for (const segment of path) {
    // confederation segments in front, or next to one that is taken, are taken too
    if (missing === 0 && !isConfederation(segment)) break;
    const length = segmentLength(segment);
    if (length <= missing) {
      merged.push(segment);
      missing -= length;
    } else {
      merged.push({ type: segment.type, asns: segment.asns.slice(0, missing) });
      missing = 0;
      break;
    }
  }
  return joinSequences(merged, tail);
}

/** One sequence where the front ends in the middle of one and the tail goes on with it. */
function joinSequences(
  front: AsPathSegment[],
  tail: readonly AsPathSegment[],
): readonly AsPathSegment[] {
  const last = front.at(-1);
  const first = tail[0];
  if (last?.type !== 'sequence' || first?.type !== 'sequence') return [...front, ...tail];
  if (last.asns.length + first.asns.length > MAX_SEGMENT) return [...front, ...tail];
  return [
    ...front.slice(0, -1),
    { type: 'sequence', asns: [...last.asns, ...first.asns] },
    ...tail.slice(1),
  ];
}
