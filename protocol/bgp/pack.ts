/**
 * Which attributes a route has on one session: our AS number and LOCAL_PREF by the kind of session, the next hop by the family,
 * Only to Customer by the roles. A route that cannot be said there is a refusal with a reason, never an exception.
 * Bytes are made of this in pack-messages.ts; two-octet AS numbers are the codec's business.
 *
 * RFC 4271 §5.1; RFC 2545 §3 (link-local next hop); RFC 8950 §4 (IPv4 behind an IPv6 next hop); RFC 9234 §5.
 */

import type { Address, Family, Ipv6Address } from '../net/address.ts';
import { addressEquals, isUnspecified } from '../net/address.ts';
import { formatAddress } from '../net/address-text.ts';
import { Role } from './codes.ts';
import { hasUnicast } from './family.ts';
import type { AsPathSegment, PathAttributes } from './message.ts';
import type { Negotiated } from './negotiate.ts';
import type { Route, RouteAttributes } from './route.ts';
import { DEFAULT_LOCAL_PREF } from './route.ts';

/** Where a session says that its routes lead, unless a route says it itself. */
export interface NextHops {
  /** an IPv6 address needs RFC 8950 to be agreed on for IPv4 unicast */
  readonly ipv4?: Address;
  readonly ipv6?: Ipv6Address;
  /** sent behind the session's own global address (RFC 2545 §3) */
  readonly ipv6LinkLocal?: Ipv6Address;
}

/** What a route has to know of a session to go out on it. */
export interface SessionView {
  readonly negotiated: Negotiated;
  readonly nextHops: NextHops;
}

export type RefusalReason =
  | 'family-not-negotiated'
  | 'no-next-hop'
  | 'next-hop-not-usable'
  | 'only-to-customer'
  | 'too-large';

/** Why routes with these attributes cannot go out on this session; `detail` is a sentence for people. */
export interface Refusal {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  readonly detail: string;
}

/** A route that does not go out on the present session. */
export interface RefusedRoute extends Refusal {
  readonly route: Route;
}

export interface SessionAttributes {
  readonly kind: 'attributes';
  /** all but MP_REACH_NLRI, which is written around the prefixes; NEXT_HOP is among them where the classic field is used */
  readonly attributes: PathAttributes;
  /** the next hops of MP_REACH_NLRI; absent where the prefixes go into the classic NLRI field */
  readonly mpNextHops?: readonly Address[];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * What routes of this family with these attributes say on this session, or why they cannot be said.
 *
 * A next hop that the route brings itself is used or refused, never replaced: silence would send traffic elsewhere.
 */
export function sessionAttributes(
  route: RouteAttributes,
  family: Family,
  view: SessionView,
): SessionAttributes | Refusal {
  const { negotiated } = view;
  if (!hasUnicast(negotiated.families, family)) {
    return refused(
      'family-not-negotiated',
      `${family} unicast was not agreed on with the neighbour`,
    );
  }
  const nextHops = chooseNextHops(route.nextHop, family, view);
  if (!Array.isArray(nextHops)) return nextHops;
  const attributes: Mutable<PathAttributes> = {
    origin: route.origin ?? 'igp',
    asPath: sessionAsPath(route, negotiated),
  };
  const first = nextHops[0];
  const classic = family === 'ipv4' && first?.family === 'ipv4';
  if (classic) attributes.nextHop = first;
  if (route.med !== undefined) attributes.med = route.med;
  if (negotiated.internal) attributes.localPref = route.localPref ?? DEFAULT_LOCAL_PREF;
  if (route.atomicAggregate === true) attributes.atomicAggregate = true;
  if (route.aggregator !== undefined) attributes.aggregator = route.aggregator;
  copyCommunities(route, attributes);
  if (route.unknown !== undefined && route.unknown.length > 0) attributes.unknown = route.unknown;
  const leak = onlyToCustomer(route, negotiated, attributes);
  if (leak !== undefined) return leak;
  return classic
    ? { kind: 'attributes', attributes }
    : { kind: 'attributes', attributes, mpNextHops: nextHops };
}

export function refused(reason: RefusalReason, detail: string): Refusal {
  return { kind: 'refused', reason, detail };
}

function chooseNextHops(
  own: Address | undefined,
  family: Family,
  { negotiated, nextHops }: SessionView,
): Address[] | Refusal {
  const ofSession = family === 'ipv4' ? nextHops.ipv4 : nextHops.ipv6;
  const chosen = own ?? ofSession;
  if (chosen === undefined) {
    return refused(
      'no-next-hop',
      `the session has no ${family} next hop and the route brings none`,
    );
  }
  const crossed = chosen.family !== family;
  const extended = family === 'ipv4' && hasUnicast(negotiated.extendedNextHop, 'ipv4');
  if (crossed && !extended) {
    const why = family === 'ipv4' ? ' without extended next hop (RFC 8950)' : '';
    return refused(
      'next-hop-not-usable',
      `${formatAddress(chosen)} cannot be the next hop of an ${family} route${why}`,
    );
  }
  if (isUnspecified(chosen)) {
    return refused('next-hop-not-usable', `${formatAddress(chosen)} is nobody's address`);
  }
  // The link-local address is ours, so it may stand behind our own global address only.
  const linkLocal = nextHops.ipv6LinkLocal;
  const isOurs = ofSession !== undefined && addressEquals(chosen, ofSession);
  return chosen.family === 'ipv6' && linkLocal !== undefined && isOurs
    ? [chosen, linkLocal]
    : [chosen];
}

/** RFC 4271 §5.1.2: untouched inside; outside our own AS number comes first. The codec cuts segments that get too long. */
function sessionAsPath(route: RouteAttributes, negotiated: Negotiated): readonly AsPathSegment[] {
  const path = route.asPath ?? [];
  if (negotiated.internal) return path;
  const own = new Array<number>(1 + Math.max(0, route.prepend ?? 0)).fill(negotiated.localAsn);
  const first = path[0];
  return first?.type === 'sequence'
    ? [{ type: 'sequence', asns: [...own, ...first.asns] }, ...path.slice(1)]
    : [{ type: 'sequence', asns: own }, ...path];
}

/** RFC 8092 §3 forbids sending a large community twice; the same is good manners for the others. */
function copyCommunities(route: RouteAttributes, to: Mutable<PathAttributes>): void {
  const { communities, extendedCommunities, ipv6ExtendedCommunities, largeCommunities } = route;
  if (communities?.length) {
    to.communities =
      new Set(communities).size === communities.length ? communities : [...new Set(communities)];
  }
  if (extendedCommunities?.length) {
    to.extendedCommunities = unique(extendedCommunities, (each) => `${each.high}:${each.low}`);
  }
  if (ipv6ExtendedCommunities?.length) {
    to.ipv6ExtendedCommunities = unique(ipv6ExtendedCommunities, String);
  }
  if (largeCommunities?.length) {
    const keyOf = (each: (typeof largeCommunities)[number]) =>
      `${each.global}:${each.local1}:${each.local2}`;
    to.largeCommunities = unique(largeCommunities, keyOf);
  }
}

function unique<T>(list: readonly T[], keyOf: (each: T) => string): readonly T[] {
  if (list.length < 2) return list;
  const byKey = new Map(list.map((each) => [keyOf(each), each]));
  return byKey.size === list.length ? list : [...byKey.values()];
}

/** RFC 9234 §5: marks what goes down or sideways, holds back what must not go up or sideways. */
function onlyToCustomer(
  route: RouteAttributes,
  negotiated: Negotiated,
  attributes: Mutable<PathAttributes>,
): Refusal | undefined {
  const role = negotiated.internal ? undefined : negotiated.roles?.local;
  const isPeer = role === Role.peer;
  if (route.otc !== undefined) {
    if (isPeer || role === Role.customer || role === Role.routeServerClient) {
      return refused(
        'only-to-customer',
        `the route carries Only to Customer ${route.otc} and the neighbour is no customer`,
      );
    }
    attributes.otc = route.otc;
  } else if (isPeer || role === Role.provider || role === Role.routeServer) {
    attributes.otc = negotiated.localAsn;
  }
  return undefined;
}
