/**
 * What a source of documents (files, or the API) has found: the objects that passed, and those that did not with the reason.
 * A new value replaces the old one as a whole; an object that is bad now and was good before stays in its last good form
 * (the source sees to that) and its fault stands beside it.
 */

import type { BgpPeer } from './bgp-peer.ts';
import type { ClaimCore } from './claim-core.ts';
import type { IpClaim } from './ip-claim.ts';
import type { IpPool } from './ip-pool.ts';
import type { DocumentSource } from './refusal.ts';

export interface Documents {
  readonly peers: readonly Sourced<BgpPeer>[];
  readonly pools: readonly Sourced<IpPool>[];
  readonly claims: readonly Sourced<IpClaim>[];
  readonly faults: readonly DocumentFault[];
  /** pools that are gone, in their last form: addresses of Services outlive them (former-pools.ts) */
  readonly formerPools?: readonly Sourced<IpPool>[];
  /** pools of the API that overlap one that stood before them: not in force, and not to be taken from a saved View in this form */
  readonly conflicting?: readonly Sourced<IpPool>[];
  /** by name, what can be read of claims of the API that are refused: it counts for their last good form, wherever that is from */
  readonly cores?: ReadonlyMap<string, ClaimCore>;
  /** the source as a whole could not be read: what is here, if anything, is from before */
  readonly isUnread?: boolean;
  /** of the API, after a start: not everything has been listed yet, and here are the IPClaims alone */
  readonly isOfClaimsAlone?: true;
}

export interface Sourced<T> {
  readonly object: T;
  /** where it stands, for people: `peers.yaml:3` */
  readonly origin: string;
  /** wall-clock milliseconds when this object was first seen; older claims keep their place when a limit is reached */
  readonly createdMs: number;
  /** absent: files */
  readonly source?: DocumentSource;
  /** of a claim of the API: the resourceVersion in which it was seen first as it is here */
  readonly version?: string;
}

/** A document that was refused. `sentence` says what is wrong and what to do. */
export interface DocumentFault {
  readonly file: string;
  readonly line?: number;
  /** `IPClaim/192.0.2.7` where it could be read so far */
  readonly subject?: string;
  readonly sentence: string;
  /** the last good form of this document is still in force */
  readonly keepsLastGood: boolean;
}

export const NO_DOCUMENTS: Documents = { peers: [], pools: [], claims: [], faults: [] };
