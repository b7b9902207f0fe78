/**
 * Communities (RFC 1997) and large communities (RFC 8092): octets and text.
 *
 * A community is written `65000:100`, a large one `65000:1:2`; the well-known ones of the IANA registry also have names, which
 * are taken wherever text is read. Extended communities are in extended-community.ts.
 */

import { u32At } from '../bytes/peek.ts';
import type { LargeCommunity } from './message.ts';

/** The IANA registry "BGP Well-known Communities", by name. */
export const WellKnownCommunity = {
  'graceful-shutdown': 0xffff0000,
  'accept-own': 0xffff0001,
  'llgr-stale': 0xffff0006,
  'no-llgr': 0xffff0007,
  blackhole: 0xffff029a,
  'no-export': 0xffffff01,
  'no-advertise': 0xffffff02,
  'no-export-subconfed': 0xffffff03,
  nopeer: 0xffffff04,
} as const;
export type WellKnownCommunityName = keyof typeof WellKnownCommunity;

const VALUES = new Map<string, number>(Object.entries(WellKnownCommunity));
const NAMES = new Map<number, string>(
  Object.entries(WellKnownCommunity).map(([name, value]) => [value, name]),
);

/**
 * The name of a well-known community, or undefined.
 *
 * @example
 * communityName(0xffffff01); // 'no-export'
 */
export function communityName(value: number): string | undefined {
  return NAMES.get(value);
}

/**
 * `high:low`, for well-known ones too; `communityName` has the names.
 *
 * @example
 * formatCommunity(0xfde80064); // '65000:100'
 */
export function formatCommunity(value: number): string {
  return `${value >>> 16}:${value & 0xffff}`;
}

/**
 * `65000:100` or a well-known name; undefined where it is neither.
 *
 * @example
 * parseCommunity('no-export'); // 0xffffff01
 */
export function parseCommunity(text: string): number | undefined {
  const known = VALUES.get(text.toLowerCase());
  if (known !== undefined) return known;
  const parts = text.split(':');
  if (parts.length !== 2) return undefined;
  const high = parseDecimal(parts[0], 0xffff);
  const low = parseDecimal(parts[1], 0xffff);
  if (high === undefined || low === undefined) return undefined;
  return ((high << 16) | low) >>> 0;
}

/**
 * Three decimal numbers (RFC 8092 §5).
 *
 * @example
 * formatLargeCommunity({ global: 65000, local1: 1, local2: 2 }); // '65000:1:2'
 */
export function formatLargeCommunity(community: LargeCommunity): string {
  return `${community.global}:${community.local1}:${community.local2}`;
}

/**
 * Three numbers of 32 bits; no leading zeros (RFC 8092 §5).
 *
 * @example
 * parseLargeCommunity('65000:1:2'); // { global: 65000, local1: 1, local2: 2 }
 */
export function parseLargeCommunity(text: string): LargeCommunity | undefined {
  const parts = text.split(':');
  if (parts.length !== 3) return undefined;
  const global = parseDecimal(parts[0], 0xffffffff);
  const local1 = parseDecimal(parts[1], 0xffffffff);
  const local2 = parseDecimal(parts[2], 0xffffffff);
  if (global === undefined || local1 === undefined || local2 === undefined) return undefined;
  return { global, local1, local2 };
}

/** Decimal digits with no sign and no leading zero, up to a maximum. */
export function parseDecimal(text: string | undefined, max: number): number | undefined {
  if (text === undefined || !/^(?:0|[1-9][0-9]{0,9})$/.test(text)) return undefined;
  const value = Number(text);
  return value <= max ? value : undefined;
}

/** The caller has seen that the length is a multiple of 4. */
export function readCommunities(bytes: Uint8Array, start: number, end: number): number[] {
  const count = (end - start) >> 2;
  const list: number[] = new Array(count);
  for (let i = 0, at = start; i < count; i++, at += 4) list[i] = u32At(bytes, at);
  return list;
}

/** The caller has seen that the length is a multiple of 12. What comes again is left out without a word (RFC 8092 §3). */
export function readLargeCommunities(
  bytes: Uint8Array,
  start: number,
  end: number,
): LargeCommunity[] {
  const list: LargeCommunity[] = [];
  for (let at = start; at < end; at += 12) {
    list.push({
      global: u32At(bytes, at),
      local1: u32At(bytes, at + 4),
      local2: u32At(bytes, at + 8),
    });
  }
  return list.length < 2 ? list : uniqueLargeCommunities(list);
}

/** One entry costs a comparison with a few others, or with a set where there are many: a message may hold five thousand. */
function uniqueLargeCommunities(list: LargeCommunity[]): LargeCommunity[] {
  if (list.length > FEW) {
    return [...new Map(list.map((each) => [formatLargeCommunity(each), each])).values()];
  }
  return list.filter((each, index) => !isBefore(list, index, each));
}

const FEW = 16;

function isBefore(list: readonly LargeCommunity[], index: number, each: LargeCommunity): boolean {
  for (let at = 0; at < index; at++) {
    const other = list[at];
    if (
      other?.global === each.global &&
      other.local1 === each.local1 &&
      other.local2 === each.local2
    ) {
      return true;
    }
  }
  return false;
}
