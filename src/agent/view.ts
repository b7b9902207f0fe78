/**
 * The View: everything an agent knows at one moment, as immutable data. `desired(view)` is a function of it alone, so any
 * decision can be repeated from a saved View, and the fast-forward tests need no machine.
 *
 * What is not here has no say. Session states are missing on purpose: facts never change what is wanted. Times are
 * monotonic milliseconds of the agent's clock, so a stepped wall clock moves nothing.
 */

import type { PrefixKey } from 'bgp-ts';
import type { Documents, Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { Advertisement, IpPool } from '../model/ip-pool.ts';
import type { Labels } from '../model/labels.ts';
import type { Announcer } from './announcer.ts';
import type { KeptPlaces } from './kept-places.ts';
import type { PeerPlan } from './peer-settings.ts';

export interface View {
  readonly nowMs: number;
  readonly node: NodeIdentity;
  readonly documents: Documents;
  readonly joined: Finding;
  /** by claim name; a claim with checks that is missing here has not been asked yet */
  readonly health: ReadonlyMap<string, Finding>;
  /** by claim name, of claims with `bind` */
  readonly bindings: ReadonlyMap<string, BindingFact>;
  /** by address key: addresses of this machine that are not ours to give away, and the interface they are on */
  readonly ownAddresses: ReadonlyMap<string, string>;
  /** the same of host addresses, which a Node may say to be a service's (service-address.ts) */
  readonly hostAddresses?: ReadonlyMap<string, string>;
  /** by peer name */
  readonly passwords: ReadonlyMap<string, PasswordFact>;
  /** sessions as they were decided on last, with their keys; absent: none stands */
  readonly standing?: readonly PeerPlan[];
  /** a person drains the node */
  readonly nodeDrain?: Drain;
  /** the agent stops */
  readonly stopDrain?: Drain;
  /** by claim name */
  readonly claimDrains: ReadonlyMap<string, Drain>;
  /** by claim name: what a person took away, on its way out */
  readonly departures: ReadonlyMap<string, Departure>;
  readonly stale?: StaleFact;
  /** the same of what comes from the API, where files are a source beside it */
  readonly staleApi?: StaleFact;
  /** what the cluster says of this node; absent where no cluster is a source */
  readonly cluster?: ClusterFacts;
  /** absent where nobody asks kube-proxy */
  readonly serviceFacts?: ServiceFacts;
  /** by prefix: whether this machine discards what an aggregate draws and nobody has; absent where it cannot */
  readonly discards?: DiscardFacts;
  /** the Lease of this node was last renewed too long ago: exclusive claims of the API step down one level */
  readonly fencedSinceMs?: number;
  /** who keeps a place with a peer, from what was decided last; absent: there is room for all */
  readonly kept?: KeptPlaces;
  /** where one process of several announces (simple mode): whether this one does, and how */
  readonly announcer?: Announcer;
  /** the Lease has run out since, or was never renewed by this process: another node may hold them */
  readonly hasLapsed?: boolean;
}

/** What kube-proxy on this node has said. */
export interface ServiceFacts {
  /** by healthCheckNodePort; one that has not answered yet is missing */
  readonly ports: ReadonlyMap<number, 'serving' | 'empty'>;
  /** by claim name: ports that were not there, or were another Service's, when it was announced already, and have not answered yet */
  readonly trusted: ReadonlyMap<string, ReadonlySet<number>>;
  /** by claim name: waits for the rules of its Service, until then at most; for ever while its Node has not joined */
  readonly waiting: ReadonlyMap<string, number>;
  readonly isProxyUnwell: boolean;
}

/** What is read of this node's own Node. */
export interface ClusterFacts {
  /** of the claims of the API; those of files have the join check */
  readonly joined: Finding;
  /** condition Ready, now */
  readonly isReady: boolean;
  /** by what a pool may name in `drain.on`: `exclude-label`, `cordon`, `taint:KEY` */
  readonly drains: ReadonlyMap<string, Drain>;
  /** InternalIP and ExternalIP, as they are written */
  readonly addresses: readonly string[];
}

export interface NodeIdentity {
  readonly name: string;
  readonly labels: Labels;
  readonly routerId: number;
  /** for peers that name no localASN */
  readonly asn?: number;
}

/** The verdict of a check, or of several. */
export interface Finding {
  readonly isOpen: boolean;
  readonly sentence: string;
  readonly remedy?: string;
  /** not open, and nothing speaks against it yet */
  readonly isUnknown?: true;
}

export type BindingFact =
  | { readonly kind: 'present'; readonly sentence: string }
  | { readonly kind: 'absent'; readonly sentence: string; readonly remedy?: string };

/** One object while nothing has changed. */
export interface DiscardFacts {
  /** undefined: the kernel has not been asked */
  get(prefix: PrefixKey): DiscardFact | undefined;
}

export type DiscardFact =
  | { readonly kind: 'present' }
  | { readonly kind: 'absent'; readonly sentence: string };

export type PasswordFact =
  | { readonly kind: 'ready'; readonly password: string }
  /** there surely is none: no session */
  | { readonly kind: 'missing'; readonly sentence: string }
  /** nobody can say which it is, yet or just now: no new session, and one that stands keeps the key that it has */
  | { readonly kind: 'unknown'; readonly problem: string };

export interface Drain {
  readonly sinceMs: number;
  readonly reason: string;
  /** wait this long instead of what the pool says */
  readonly waitMs?: number;
  /** of a stop: exclusive claims of the API wait so long for their next node, where that is longer than the pool's wait */
  readonly moveMs?: number;
  /** no longer than this, whatever else is said */
  readonly mostMs?: number;
}

/** A claim as it was announced last, after its documents stopped asking for it. */
export interface Departure {
  readonly claim: Sourced<IpClaim>;
  readonly pool: IpPool;
  readonly sinceMs: number;
  readonly reason: string;
  /** its document as it was there last, where that asks for another mode than `claim` does */
  readonly later?: Sourced<IpClaim>;
  /**
   * Of an exclusive claim that this node still has a label on, while its pool advertises on other nodes alone: the advertisements that selected
   * this node last. Claim, pool and peers count as they are now, and there is no wait: it stays until the label goes.
   */
  readonly held?: HeldForm;
}

/** empty: the pool named none, and the routes were plain */
export type HeldForm = readonly Advertisement[];

/** The documents come from a saved View; nothing has been heard from their source since. */
export interface StaleFact {
  readonly sinceMs: number;
  /** monotonic time after which they no longer count */
  readonly untilMs: number;
  readonly sentence: string;
}
