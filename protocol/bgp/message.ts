/**
 * The BGP messages as data: what the codec produces and consumes, and nothing more.
 *
 * A message owns its bytes (copies, never views of a receive buffer). Numbers on the wire that have a small fixed
 * meaning become words (`origin: 'igp'`); everything unknown is kept as code and bytes so that it survives a round
 * trip. Types here are about what was said; what two speakers agreed on is `Negotiated` in negotiate.ts.
 */

import type { Address, Ipv4Address, Prefix } from '../net/address.ts';

export type Message =
  | OpenMessage
  | UpdateMessage
  | NotificationMessage
  | KeepaliveMessage
  | RouteRefreshMessage;
export type MessageKind = Message['kind'];

/** RFC 4271 §4.2, RFC 5492 (capabilities), RFC 9072 (extended optional parameters). */
export interface OpenMessage {
  readonly kind: 'open';
  readonly version: number;
  /** the two-octet My Autonomous System field; AS_TRANS where the real number is in the capability */
  readonly asn: number;
  readonly holdTimeSeconds: number;
  /** BGP Identifier as an unsigned 32-bit number (RFC 6286); text form is the dotted quad */
  readonly routerId: number;
  readonly capabilities: readonly Capability[];
  /** optional parameters other than capabilities: written where they are given; an OPEN that brings one is refused (2/4) */
  readonly otherParameters?: readonly OptionalParameter[];
}

export interface OptionalParameter {
  readonly type: number;
  readonly value: Uint8Array;
}

/** One advertised capability. `kind: 'unknown'` keeps any code that we do not interpret. */
export type Capability =
  | { readonly kind: 'multiprotocol'; readonly afi: number; readonly safi: number }
  | { readonly kind: 'route-refresh' }
  | { readonly kind: 'extended-next-hop'; readonly entries: readonly ExtendedNextHopEntry[] }
  | { readonly kind: 'extended-message' }
  | { readonly kind: 'role'; readonly role: number }
  | GracefulRestartCapability
  | { readonly kind: 'four-octet-asn'; readonly asn: number }
  | { readonly kind: 'add-path'; readonly entries: readonly AddPathEntry[] }
  | { readonly kind: 'enhanced-route-refresh' }
  | { readonly kind: 'fqdn'; readonly host: string; readonly domain: string }
  | { readonly kind: 'unknown'; readonly code: number; readonly value: Uint8Array };

/** RFC 4724 §3; `notification` is the N bit of RFC 8538, decoded and never set by us. */
export interface GracefulRestartCapability {
  readonly kind: 'graceful-restart';
  readonly restarting: boolean;
  readonly notification: boolean;
  readonly restartTimeSeconds: number;
  readonly families: readonly GracefulRestartFamily[];
}

export interface GracefulRestartFamily {
  readonly afi: number;
  readonly safi: number;
  /** F bit: forwarding state was preserved */
  readonly forwarding: boolean;
}

/** RFC 8950 §4 */
export interface ExtendedNextHopEntry {
  readonly afi: number;
  readonly safi: number;
  readonly nextHopAfi: number;
}

/** RFC 7911 §4; the mode is one of `AddPathMode` in codes.ts, or a number that means nothing */
export interface AddPathEntry {
  readonly afi: number;
  readonly safi: number;
  readonly mode: number;
}

/** RFC 4271 §4.3. An UPDATE with nothing in it is the IPv4 unicast End-of-RIB (RFC 4724 §2). */
export interface UpdateMessage {
  readonly kind: 'update';
  readonly withdrawn: readonly Nlri[];
  readonly attributes: PathAttributes;
  readonly nlri: readonly Nlri[];
}

/** One destination of IPv4 or IPv6 unicast (or multicast); `pathId` only where add-path is in use (RFC 7911). */
export type Nlri = Prefix & { readonly pathId?: number };

export type Origin = 'igp' | 'egp' | 'incomplete';

export type AsPathSegmentType = 'set' | 'sequence' | 'confed-sequence' | 'confed-set';

export interface AsPathSegment {
  readonly type: AsPathSegmentType;
  readonly asns: readonly number[];
}

export interface Aggregator {
  readonly asn: number;
  readonly address: Ipv4Address;
}

/** Eight octets of RFC 4360 as two unsigned 32-bit halves. */
export interface ExtendedCommunity {
  readonly high: number;
  readonly low: number;
}

/** RFC 8092: three unsigned 32-bit numbers. */
export interface LargeCommunity {
  readonly global: number;
  readonly local1: number;
  readonly local2: number;
}

/**
 * What an UPDATE says about its routes. On a session, a four-octet view: AS4_PATH and AS4_AGGREGATOR have been merged into
 * `asPath` and `aggregator` (RFC 6793 §4.2.3) when the session is a two-octet one. Where the session is not known
 * (`CodecContext.internal` undefined) the attributes stand as they came.
 */
export interface PathAttributes {
  readonly origin?: Origin;
  readonly asPath?: readonly AsPathSegment[];
  readonly nextHop?: Ipv4Address;
  readonly med?: number;
  readonly localPref?: number;
  readonly atomicAggregate?: boolean;
  readonly aggregator?: Aggregator;
  /** RFC 1997 communities as unsigned 32-bit numbers */
  readonly communities?: readonly number[];
  readonly originatorId?: Ipv4Address;
  readonly clusterList?: readonly Ipv4Address[];
  readonly mpReach?: MpReach;
  readonly mpUnreach?: MpUnreach;
  readonly extendedCommunities?: readonly ExtendedCommunity[];
  /** RFC 5701: 20 octets each */
  readonly ipv6ExtendedCommunities?: readonly Uint8Array[];
  /** only in messages of an unknown session: what came, not merged */
  readonly as4Path?: readonly AsPathSegment[];
  readonly as4Aggregator?: Aggregator;
  readonly largeCommunities?: readonly LargeCommunity[];
  /** RFC 9234 Only to Customer */
  readonly otc?: number;
  readonly unknown?: readonly UnknownAttribute[];
}

export interface UnknownAttribute {
  readonly code: number;
  readonly flags: number;
  readonly value: Uint8Array;
}

/**
 * RFC 4760 §3. Families that we interpret (AFI 1 and 2, SAFI 1 and 2) have prefixes and addresses; of all others next hop and
 * NLRI are kept as octets.
 */
export type MpReach =
  | {
      readonly kind: 'prefixes';
      readonly afi: number;
      readonly safi: number;
      /** global, then link-local where 32 octets were sent (RFC 2545 §3) */
      readonly nextHops: readonly Address[];
      readonly nlri: readonly Nlri[];
    }
  | {
      readonly kind: 'opaque';
      readonly afi: number;
      readonly safi: number;
      readonly nextHop: Uint8Array;
      readonly nlri: Uint8Array;
    };

/** RFC 4760 §4; with no NLRI it is the End-of-RIB of that family (RFC 4724 §2). */
export type MpUnreach =
  | {
      readonly kind: 'prefixes';
      readonly afi: number;
      readonly safi: number;
      readonly withdrawn: readonly Nlri[];
    }
  | {
      readonly kind: 'opaque';
      readonly afi: number;
      readonly safi: number;
      readonly withdrawn: Uint8Array;
    };

/** RFC 4271 §4.5. Text of RFC 9003 is inside `data`; notification.ts reads and writes it. */
export interface NotificationMessage {
  readonly kind: 'notification';
  readonly code: number;
  readonly subcode: number;
  readonly data: Uint8Array;
}

export interface KeepaliveMessage {
  readonly kind: 'keepalive';
}

/** RFC 2918; `subtype` is RFC 7313's: 0 request, 1 begin, 2 end. `data` holds what follows (e.g. ORF), kept as it came. */
export interface RouteRefreshMessage {
  readonly kind: 'route-refresh';
  readonly afi: number;
  readonly safi: number;
  readonly subtype: number;
  readonly data?: Uint8Array;
}
