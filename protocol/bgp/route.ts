/**
 * A route that we want to announce, before it meets a session. Attributes are shared objects: thousands of routes
 * point to one. What depends on the session (next hop self, our AS in front of the path, LOCAL_PREF on internal sessions)
 * is put in by pack.ts when the UPDATE is made.
 */

import type { Address, Prefix } from '../net/address.ts';
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
