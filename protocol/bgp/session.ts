/**
 * The words of the session machine: configuration, events, actions, timers. Types, and the lists of states and timers.
 *
 * connection.ts is the machine of one TCP connection (RFC 4271 §8); peer.ts runs one or two of them for a neighbour:
 * collision (§6.8), damping, idle hold. Both are `step(state, event, config) -> { state, actions }`: no clock, no
 * socket, no randomness, no throw for what a neighbour does. State, events and actions are plain data that survives JSON
 * (bytes aside), so that any run can be recorded and replayed.
 */

import type { BgpFault } from './error.ts';
import type { Capability, Message } from './message.ts';
import type { Negotiated } from './negotiate.ts';

/** `closing` is ours, after BIRD: a NOTIFICATION is on its way out and the connection is kept until it has left. */
export const CONNECTION_STATES = [
  'idle',
  'connect',
  'active',
  'open-sent',
  'open-confirm',
  'established',
  'closing',
] as const;
export type ConnectionStateName = (typeof CONNECTION_STATES)[number];

/** `out` is the connection that we dial, `in` the one that the neighbour dialled. */
export type Side = 'out' | 'in';

export interface SessionConfig {
  readonly localAsn: number;
  readonly routerId: number;
  /** a number, or `external` (any but ours), `internal` (ours) or `any` of both, learned from the OPEN */
  readonly peerAsn: number | 'external' | 'internal' | 'any';
  readonly holdTimeSeconds: number;
  /** refuse a neighbour that wants none (RFC 4271 §4.2 leaves that to us), unless ours is 0 too */
  readonly requiresHoldTime?: boolean;
  /** default: a third of the negotiated hold time; never more than that */
  readonly keepaliveSeconds?: number;
  readonly connectRetrySeconds: number;
  /** 0 = no DelayOpen */
  readonly delayOpenSeconds: number;
  /** never dial, wait for the neighbour to do it */
  readonly passive: boolean;
  /** accept what the neighbour dials; passive implies it */
  readonly acceptIncoming: boolean;
  /** capabilities of our OPEN, in order; four-octet-asn is always among them */
  readonly capabilities: readonly Capability[];
  /** RFC 9234 §4.2 strict mode: refuse a neighbour that sends no role */
  readonly strictRole?: boolean;
  /** RFC 4271 §8.1.1 DampPeerOscillations: how long to stay idle after an error, doubled each time up to the maximum */
  readonly idleHold: { readonly initialSeconds: number; readonly maximumSeconds: number };
  /**
   * RFC 9687; 0 = off. Its §6 suggests 8 minutes or twice the hold time, whichever is greater; §4.4 wants more than the hold
   * time.
   */
  readonly sendHoldSeconds: number;
  /** how long `closing` may last before the connection is cut */
  readonly closeSeconds: number;
}

export const CONNECTION_TIMERS = [
  'connect-retry',
  'hold',
  'keepalive',
  'delay-open',
  'send-hold',
  'close',
] as const;
export type ConnectionTimer = (typeof CONNECTION_TIMERS)[number];

/** Why we stop on purpose. */
export type StopReason =
  /** Cease with this subcode (RFC 4486) and text (RFC 9003, for shutdown and reset) */
  | { readonly kind: 'cease'; readonly subcode: number; readonly text?: string }
  /** close TCP with no NOTIFICATION: a planned restart under graceful restart (RFC 4724 §4) */
  | { readonly kind: 'restart' };

/** How a TCP connection ended. */
export interface Disconnection {
  readonly detail: string;
  /** our own kernel gave the connection up: the neighbour may still hold it, and the session with it */
  readonly isOneSided?: boolean;
}

export type PeerEvent =
  | { readonly kind: 'start' }
  | { readonly kind: 'stop'; readonly reason: StopReason }
  /** TCP is up: our dial was answered (`out`) or a neighbour's was accepted (`in`) */
  | { readonly kind: 'connected'; readonly side: Side }
  /** TCP failed, was refused, reset or closed by the other side */
  | ({ readonly kind: 'disconnected'; readonly side: Side } & Disconnection)
  | { readonly kind: 'message'; readonly side: Side; readonly message: Message }
  /** what came could not be read, and its outcome is `reset` */
  | { readonly kind: 'fault'; readonly side: Side; readonly fault: BgpFault }
  | { readonly kind: 'timer'; readonly timer: 'idle-hold' }
  | { readonly kind: 'timer'; readonly timer: ConnectionTimer; readonly side: Side }
  /** some bytes of ours were taken by the neighbour: restarts the send hold timer */
  | { readonly kind: 'progress'; readonly side: Side }
  /** all that was handed to the connection has left (ends `closing`) */
  | { readonly kind: 'flushed'; readonly side: Side };

/** Why a session ended or a connection came to nothing. */
export type DownReason =
  | {
      readonly kind: 'notification-sent';
      readonly code: number;
      readonly subcode: number;
      readonly detail: string;
    }
  | {
      readonly kind: 'notification-received';
      readonly code: number;
      readonly subcode: number;
      readonly detail: string;
    }
  | ({ readonly kind: 'disconnected' } & Disconnection)
  | { readonly kind: 'collision' }
  | { readonly kind: 'stopped' };

export type PeerAction =
  /** dial; the driver answers with `connected` or `disconnected` of side `out` */
  | { readonly kind: 'connect' }
  | { readonly kind: 'send'; readonly side: Side; readonly message: Message }
  /** let what was handed over leave, then close */
  | { readonly kind: 'close'; readonly side: Side }
  /** cut at once, dropping what has not left */
  | { readonly kind: 'abort'; readonly side: Side }
  | {
      readonly kind: 'start-timer';
      readonly timer: ConnectionTimer;
      readonly side: Side;
      readonly seconds: number;
      /** the driver multiplies by a random factor of 0.75 to 1 (RFC 4271 §10) */
      readonly jitter: boolean;
    }
  | { readonly kind: 'stop-timer'; readonly timer: ConnectionTimer; readonly side: Side }
  | { readonly kind: 'start-idle-hold'; readonly seconds: number; readonly jitter: boolean }
  | { readonly kind: 'stop-idle-hold' }
  | { readonly kind: 'established'; readonly side: Side; readonly negotiated: Negotiated }
  /** an established session ended, or a connection attempt failed; said once per ended attempt */
  | {
      readonly kind: 'down';
      readonly side: Side;
      readonly wasEstablished: boolean;
      readonly reason: DownReason;
    };
