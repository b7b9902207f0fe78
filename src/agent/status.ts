/**
 * What an agent tells about itself: the JSON of its control socket, `GET /status`, and the source of all that `herald status`,
 * `routes` and `explain` print. Plain data, no secrets; times are ISO 8601 in UTC.
 */

import type { Family } from 'bgp-ts';
import type { DocumentFault } from '../model/documents.ts';
import type { Labels } from '../model/labels.ts';
import type { EffectiveLevel } from '../model/names.ts';
import type { Gate } from './gate.ts';

export interface AgentStatus {
  readonly version: string;
  readonly pid: number;
  readonly node: { readonly name: string; readonly labels: Labels };
  /** BGP identifier, like 192.0.2.1; absent: an agent of 0.1 */
  readonly routerId?: string;
  readonly source: string;
  readonly startedAt: string;
  /** set while the agent runs on a saved View and has not heard from its source yet */
  readonly stale?: { readonly since: string; readonly sentence: string };
  readonly joined: GateStatus;
  /** the node as a whole is draining (a person, or a signal) */
  readonly draining?: { readonly since: string; readonly reason: string };
  readonly sessions: readonly SessionStatus[];
  readonly claims: readonly ClaimStatus[];
  /** documents that were refused */
  readonly faults: readonly DocumentFault[];
  /** what works but will surprise: sysctls, a masked CIDR, a port that is taken */
  readonly warnings: readonly string[];
}

/** The same, with claims that are worked out one by one while somebody reads them: of one decision, however long that takes. */
export interface StatusDocument extends Omit<AgentStatus, 'claims'> {
  readonly claims: Iterable<ClaimStatus>;
}

export interface GateStatus extends Gate {
  readonly since: string;
}

/** `state` of a router that no session leads to any more, and that may still have our routes */
export const ABANDONED = 'removed';

export interface SessionStatus {
  readonly peer: string;
  /** address as text, with port when it is not 179 */
  readonly address: string;
  readonly asn: number | 'external' | 'internal';
  readonly localAsn: number;
  readonly state: string;
  readonly since: string;
  readonly routesSent: number;
  readonly routesReceived: number;
  /** agreed by both; 0: none */
  readonly holdSeconds?: number;
  /** how long the router keeps our routes when the connection is closed without a word; absent: graceful restart was not agreed */
  readonly restartSeconds?: number;
  /** it is down: how long from its end the router may keep our routes, since nobody has told it */
  readonly keptSeconds?: number;
  readonly lastError?: string;
  /** the peer is configured but cannot be used here, and why (no password file, no local ASN) */
  readonly refused?: string;
  /** families that it is meant to carry and does not, though it is up; known once there is a route of it */
  readonly cannotCarry?: readonly { readonly family: Family; readonly sentence: string }[];
}

export interface ClaimStatus {
  /** RFC 5952 */
  readonly address: string;
  readonly name: string;
  readonly pool?: string;
  readonly origin: string;
  readonly interface?: string;
  /** of an exclusive claim that is placed here: 0 holder, then steps down */
  readonly level?: EffectiveLevel;
  /** the gates that do not depend on the peer */
  readonly gates: readonly GateStatus[];
  readonly peers: readonly ClaimPeerStatus[];
  /** the document is gone or moved, and its route is on the way out */
  readonly leaving?: boolean;
}

export interface ClaimPeerStatus {
  readonly peer: string;
  /** `up`: wanted and the session is established; `waiting`: wanted, no session; `draining`: out with GRACEFUL_SHUTDOWN */
  readonly route: 'up' | 'waiting' | 'draining' | 'none';
  /** all six, in order */
  readonly gates: readonly GateStatus[];
  /** is announced in place of the host route, for all claims inside; RFC 5952 */
  readonly aggregate?: string;
  readonly attributes?: {
    readonly nextHop?: string;
    readonly communities: readonly string[];
    readonly prepend: number;
    readonly med?: number;
    readonly localPref?: number;
  };
}

/** The answer to a drain or undrain. */
export interface DrainAnswer {
  readonly ok: boolean;
  readonly sentence: string;
}
