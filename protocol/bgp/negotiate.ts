/**
 * From two OPENs to what the session may do. Pure.
 *
 * RFC 4271 §4.2 (hold time), RFC 5492, RFC 4760, RFC 6793, RFC 6286, RFC 7911, RFC 8654, RFC 8950, RFC 9234 §4, RFC 4724.
 */

import type { GracefulRestartCapability } from './message.ts';

/** An address family of which both sides said that they speak it. */
export interface FamilyId {
  readonly afi: number;
  readonly safi: number;
}

/** What decode and encode have to know about a session. */
export interface CodecContext {
  /** four-octet AS numbers in AS_PATH and AGGREGATOR (RFC 6793) */
  readonly as4: boolean;
  /** messages of up to 65,535 octets (RFC 8654); never for OPEN and KEEPALIVE */
  readonly extendedMessage: boolean;
  /** internal session: LOCAL_PREF, ORIGINATOR_ID and CLUSTER_LIST are expected (RFC 7606 §7.5, 7.9, 7.10) */
  readonly internal: boolean;
  /** families whose NLRI carry a path identifier in what we receive and in what we send (RFC 7911) */
  readonly addPathReceive: readonly FamilyId[];
  readonly addPathSend: readonly FamilyId[];
  /** IPv4 families that may carry an IPv6 next hop (RFC 8950) */
  readonly extendedNextHop: readonly FamilyId[];
}

export interface Negotiated extends CodecContext {
  readonly peerAsn: number;
  readonly peerRouterId: number;
  readonly localAsn: number;
  readonly localRouterId: number;
  /** the smaller of both; 0 = no keepalives, no hold timer */
  readonly holdTimeSeconds: number;
  /** a third of the hold time, or less where configured; 0 with hold time 0 */
  readonly keepaliveSeconds: number;
  readonly families: readonly FamilyId[];
  readonly routeRefresh: boolean;
  readonly enhancedRouteRefresh: boolean;
  /** what the peer said, if it said anything */
  readonly peerGracefulRestart?: GracefulRestartCapability;
  /** our own role and theirs when both sent one (RFC 9234) */
  readonly roles?: { readonly local: number; readonly peer: number };
}
