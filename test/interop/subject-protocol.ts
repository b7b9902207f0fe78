/**
 * What the test and the subject say to each other, one JSON object per line: commands on stdin, answers and events on
 * stdout. Addresses, prefixes and communities are text, as in a configuration file; a password goes over stdin and
 * never into a command line.
 */

import type { Family, Origin, PeerTimers, SpeakerStop, TtlRule } from 'bgp-ts';

export type SubjectStart = {
  /** Listen on port 179 of all addresses. */
  readonly listen?: boolean;
  /** This process comes back from a planned restart (RFC 4724). */
  readonly restarting?: boolean;
};

export type SubjectPeer = {
  readonly address: string;
  readonly localAsn: number;
  readonly peerAsn: number | 'external' | 'internal';
  readonly routerId: string;
  readonly families?: readonly Family[];
  readonly timers?: PeerTimers;
  readonly password?: string;
  readonly ttl?: TtlRule;
  readonly nextHop?: {
    readonly ipv4?: string;
    readonly ipv6?: string;
    readonly ipv6LinkLocal?: boolean;
  };
  readonly passive?: boolean;
  readonly listen?: boolean;
  readonly gracefulRestart?: { readonly restartSeconds: number };
  readonly addPathSend?: readonly Family[];
  readonly extendedMessage?: boolean;
  readonly extendedNextHop?: boolean;
  readonly routes: readonly SubjectRoute[];
};

export type SubjectRoute = {
  readonly prefix: string;
  readonly origin?: Origin;
  readonly asPath?: readonly number[];
  readonly prepend?: number;
  readonly nextHop?: string;
  readonly med?: number;
  readonly localPref?: number;
  readonly communities?: readonly string[];
  readonly largeCommunities?: readonly string[];
  readonly extendedCommunities?: readonly string[];
  readonly pathId?: number;
};

export type SubjectCommand =
  | ({ readonly kind: 'start' } & SubjectStart)
  | { readonly kind: 'apply'; readonly peers: readonly SubjectPeer[] }
  | { readonly kind: 'status' }
  | { readonly kind: 'stop'; readonly how: SpeakerStop };

/** One event of the speaker, flat; only what a test asks about. */
export type SubjectEvent = {
  readonly kind: string;
  readonly atMs: number;
  readonly to?: string;
  readonly side?: string;
  readonly peerAsn?: number;
  readonly internal?: boolean;
  readonly as4?: boolean;
  readonly extendedMessage?: boolean;
  readonly code?: number;
  readonly subcode?: number;
  readonly text?: string;
  readonly detail?: string;
  readonly wasEstablished?: boolean;
};

export type SubjectStatus = {
  readonly state: string;
  readonly lastError?: string;
  readonly routesAdvertised: Readonly<Record<Family, number>>;
};

export type SubjectLine =
  | { readonly kind: 'event'; readonly event: SubjectEvent }
  | { readonly kind: 'answer'; readonly status: readonly SubjectStatus[] }
  | { readonly kind: 'failed'; readonly error: string };
