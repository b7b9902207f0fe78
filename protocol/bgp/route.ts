/**
 * A route that we want to announce, before it meets a session. Attributes are shared objects: thousands of routes
 * point to one. What depends on the session (next hop self, our AS in front of the path, LOCAL_PREF on internal sessions)
 * is put in by pack.ts when the UPDATE is made.
 *
 * `attributesKey` is what makes two attribute objects the same: they would go out the same on every session. Defaults that are
 * written down equal defaults that are left out, and communities of every kind are sets (RFC 1997, RFC 4360, RFC 8092 §3), so
 * neither their order nor a repetition counts. The order inside AS_PATH does.
 */

import type { Address, Prefix } from '../net/address.ts';
import { addressKey, prefixKey } from '../net/address.ts';
import type {
  Aggregator,
  AsPathSegment,
  ExtendedCommunity,
  LargeCommunity,
  Origin,
  UnknownAttribute,
} from './message.ts';

export interface Route {
  readonly prefix: Prefix;
  readonly attributes: RouteAttributes;
  /** used only on sessions where add-path was agreed for sending; default 0 */
  readonly pathId?: number;
}

export interface RouteAttributes {
  /** default igp */
  readonly origin?: Origin;
  /** what stands behind our own AS number; default empty */
  readonly asPath?: readonly AsPathSegment[];
  /** how many more times our own AS number is put in front, on external sessions */
  readonly prepend?: number;
  /** default: the session's own next hop for the family (`NextHops` in pack.ts) */
  readonly nextHop?: Address;
  readonly med?: number;
  /** sent on internal sessions only; default 100 there */
  readonly localPref?: number;
  readonly atomicAggregate?: boolean;
  readonly aggregator?: Aggregator;
  readonly communities?: readonly number[];
  readonly extendedCommunities?: readonly ExtendedCommunity[];
  readonly ipv6ExtendedCommunities?: readonly Uint8Array[];
  readonly largeCommunities?: readonly LargeCommunity[];
  readonly otc?: number;
  readonly unknown?: readonly UnknownAttribute[];
}

export const DEFAULT_LOCAL_PREF = 100;

/** Attribute objects are immutable and shared, so a key is computed once for each. */
const keys = new WeakMap<RouteAttributes, string>();

/** Equal attributes have equal keys, whoever built the objects and in whatever order. Not for people to read. */
export function attributesKey(attributes: RouteAttributes): string {
  const known = keys.get(attributes);
  if (known !== undefined) return known;
  const key = buildKey(attributes);
  keys.set(attributes, key);
  return key;
}

/**
 * True where both would go out the same on every session.
 *
 * @example
 * attributesEqual({ origin: 'igp' }, {}); // true
 */
export function attributesEqual(a: RouteAttributes, b: RouteAttributes): boolean {
  return a === b || attributesKey(a) === attributesKey(b);
}

/**
 * What a neighbour tells routes apart by: the prefix and, where add-path is in use, the path identifier (RFC 7911 §3).
 * For Map keys; not for people to read.
 */
export function routeKey(route: Pick<Route, 'prefix' | 'pathId'>, addPath: boolean): string {
  const key = prefixKey(route.prefix);
  return addPath ? `${route.pathId ?? 0}@${key}` : key;
}

/** Each part opens with a letter of its own, so that no value can be taken for a neighbouring one. */
function buildKey(attributes: RouteAttributes): string {
  const { origin, asPath, prepend, nextHop, med, localPref, aggregator, otc, unknown } = attributes;
  let key = origin === undefined ? 'igp' : origin;
  if (asPath !== undefined && asPath.length > 0) key += `|p${asPath.map(segmentKey).join(';')}`;
  if (prepend !== undefined && prepend > 0) key += `|+${prepend}`;
  if (nextHop !== undefined) key += `|n${nextHop.family}${addressKey(nextHop)}`;
  if (med !== undefined) key += `|m${med}`;
  if (localPref !== undefined && localPref !== DEFAULT_LOCAL_PREF) key += `|l${localPref}`;
  if (attributes.atomicAggregate === true) key += '|a';
  if (aggregator !== undefined) key += `|g${aggregator.asn} ${aggregator.address.bits}`;
  if (otc !== undefined) key += `|o${otc}`;
  key += communitiesKey(attributes);
  if (unknown !== undefined && unknown.length > 0) key += `|u${unknown.map(unknownKey).join(';')}`;
  return key;
}

function communitiesKey(attributes: RouteAttributes): string {
  const { communities, extendedCommunities, ipv6ExtendedCommunities, largeCommunities } =
    attributes;
  let key = '';
  if (communities !== undefined && communities.length > 0) {
    key += `|c${isAscending(communities) ? communities.join(' ') : setKey(communities)}`;
  }
  if (extendedCommunities !== undefined && extendedCommunities.length > 0) {
    key += `|e${setKey(extendedCommunities.map((each) => `${each.high}:${each.low}`))}`;
  }
  if (ipv6ExtendedCommunities !== undefined && ipv6ExtendedCommunities.length > 0) {
    key += `|x${setKey(ipv6ExtendedCommunities.map(String))}`;
  }
  if (largeCommunities !== undefined && largeCommunities.length > 0) {
    const members = largeCommunities.map((each) => `${each.global}:${each.local1}:${each.local2}`);
    key += `|b${setKey(members)}`;
  }
  return key;
}

function setKey(members: readonly (string | number)[]): string {
  if (members.length === 1) return String(members[0]);
  return [...new Set(members)].sort((a, b) => (a < b ? -1 : 1)).join(' ');
}

/** In order and without repetition: what people and programs mostly write. */
function isAscending(numbers: readonly number[]): boolean {
  let last = -1;
  for (const each of numbers) {
    if (each <= last) return false;
    last = each;
  }
  return true;
}

function segmentKey(segment: AsPathSegment): string {
  return `${segment.type} ${segment.asns.join(' ')}`;
}

function unknownKey(attribute: UnknownAttribute): string {
  return `${attribute.code} ${attribute.flags} ${attribute.value.join(' ')}`;
}
