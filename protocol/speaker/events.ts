/** What the speaker tells: facts for status, metrics and logs. They never change what is wanted. No secrets in them. */

import type { BgpFault, Issue } from '../bgp/error.ts';
import type { FamilyId } from '../bgp/family.ts';
import type { Nlri, UpdateMessage } from '../bgp/message.ts';
import type { Negotiated } from '../bgp/negotiate.ts';
import type { RefusedRoute } from '../bgp/pack.ts';
import type { ConnectionStateName, DownReason, Side } from '../bgp/session.ts';
import type { Endpoint, TransportError } from '../io/transport.ts';
import type { Family } from '../net/address.ts';

export type SpeakerEvent = PeerSpeakerEvent | ListenEvent;

/** Everything that happens to one neighbour; `peer` is its name in the settings. */
export type PeerSpeakerEvent =
  | {
      readonly kind: 'transition';
      readonly peer: string;
      readonly from: ConnectionStateName;
      readonly to: ConnectionStateName;
    }
  | {
      readonly kind: 'established';
      readonly peer: string;
      readonly side: Side;
      readonly local: Endpoint;
      readonly remote: Endpoint;
      readonly negotiated: Negotiated;
    }
  | {
      readonly kind: 'down';
      readonly peer: string;
      readonly wasEstablished: boolean;
      readonly reason: DownReason;
    }
  | {
      readonly kind: 'notification-sent' | 'notification-received';
      readonly peer: string;
      readonly code: number;
      readonly subcode: number;
      /** the registry's words for code and subcode */
      readonly name: string;
      /** the shutdown communication of RFC 9003, or empty */
      readonly text: string;
      readonly data: Uint8Array;
    }
  /** all that is wanted has arrived at the neighbour, as far as TCP tells; said once per establishment and after each change */
  | {
      readonly kind: 'routes-synced';
      readonly peer: string;
      readonly routes: Readonly<Record<Family, number>>;
    }
  /** routes that this session cannot carry (no next hop of the family, family not agreed, attributes too long) */
  | {
      readonly kind: 'routes-refused';
      readonly peer: string;
      readonly count: number;
      /** at most ten of them, one of each family that has some among them */
      readonly first: readonly RefusedRoute[];
    }
  | { readonly kind: 'refresh-requested'; readonly peer: string; readonly family: FamilyId }
  /** the neighbour refreshed its routes (RFC 7313) and these were not among them: they are held no more */
  | {
      readonly kind: 'routes-not-refreshed';
      readonly peer: string;
      readonly prefixes: readonly Nlri[];
    }
  /** an UPDATE of the neighbour had a defect that RFC 7606 does not answer with a reset */
  | { readonly kind: 'update-fault'; readonly peer: string; readonly fault: BgpFault }
  | { readonly kind: 'update-issue'; readonly peer: string; readonly issue: Issue }
  /** after `down`: what we sent last, a NOTIFICATION, has arrived at the neighbour, as far as TCP tells. Without it the neighbour may know of no end */
  | {
      readonly kind: 'end-arrived';
      readonly peer: string;
      /** of the connection, as in `established` */
      readonly local: Endpoint;
      readonly remote: Endpoint;
    }
  /**
   * No neighbour has this name any more: it is not configured, was renamed, or came by a range and is gone. The last event of this name.
   * `newName`: the same neighbour and its session go on under it.
   */
  | { readonly kind: 'removed'; readonly peer: string; readonly newName?: string }
  /** the neighbour's UPDATE, after it was counted; the speaker itself keeps none of its routes */
  | { readonly kind: 'update-received'; readonly peer: string; readonly update: UpdateMessage };

export type ListenEvent =
  | { readonly kind: 'listening'; readonly local: Endpoint }
  | { readonly kind: 'listen-failed'; readonly error: TransportError; readonly retryInMs: number }
  /** a connection was dropped as it came, or will be: GTSM, an option that could not be set, no descriptor left */
  | { readonly kind: 'accept-failed'; readonly error: TransportError }
  /** a connection from an address that is no neighbour's, or whose session does not accept */
  | {
      readonly kind: 'connection-refused';
      readonly remote: Endpoint;
      /** a sentence, where there is more to say: the range is full */
      readonly detail?: string;
    };

/** Counters since the neighbour was configured; they only grow. */
export interface PeerCounters {
  readonly establishedCount: number;
  readonly messagesSent: number;
  readonly messagesReceived: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  readonly updatesReceived: number;
  /** announcements of the neighbour; one for a known prefix counts again */
  readonly routesReceived: number;
  readonly routesWithdrawnByPeer: number;
  /** routes of malformed UPDATEs (RFC 7606) */
  readonly routesTreatedAsWithdraw: number;
  /** announcements turned away by policy: all of them, unless the settings keep them */
  readonly routesRejected: number;
  readonly notificationsSent: number;
  readonly notificationsReceived: number;
  readonly faults: number;
}

/** One neighbour as it stands. */
export interface PeerStatus {
  readonly name: string;
  readonly state: ConnectionStateName;
  /** wall-clock milliseconds of the last change of state */
  readonly sinceMs: number;
  readonly negotiated?: Negotiated;
  readonly local?: Endpoint;
  readonly remote?: Endpoint;
  readonly routesAdvertised: Readonly<Record<Family, number>>;
  readonly routesPending: number;
  /** all that is wanted has arrived at the neighbour, as far as TCP tells; `routesPending` is 0 earlier, when the octets are made */
  readonly isSynced: boolean;
  /** routes follow that could not be decided yet: a neighbour that kept those of an earlier session goes on keeping them */
  readonly owesEndOfRib: boolean;
  /** routes of the neighbour that we hold; 0 unless the settings keep them */
  readonly routesHeld: number;
  readonly lastError?: string;
  readonly counters: PeerCounters;
}
