/** What the controller reads of an IPNode, and what an agent writes into its status (deploy/crds/ipnodes.yaml). */

import type { Family } from 'bgp-ts';
import { type IpClaim, isLocal } from './ip-claim.ts';
import type { Condition } from './service.ts';

export interface IpNode {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly status: IpNodeStatus;
}

export interface IpNodeStatus {
  readonly joined?: {
    readonly open: boolean;
    readonly reason: string;
    readonly message: string;
    readonly since: string;
  };
  /** why the node takes no exclusive claim and gives back those it has; absent = it does not drain */
  readonly draining?: { readonly reason: string; readonly since: string };
  /** it is the only node there is (simple mode): its exclude label leaves nobody else, so nobody obeys it */
  readonly ignoresExcludeLabel?: boolean;
  readonly sessions?: readonly IpNodeSession[];
  readonly routes?: number;
  readonly refused?: readonly IpNodeRefusal[];
  readonly refusedMore?: number;
  /** exclusive claims at a level that the controller waits for, or that have just left: the answer to a move */
  readonly levels?: readonly IpNodeLevel[];
  /**
   * resourceVersion of IPClaims up to which everything has been taken up, and every withdrawal in it has been written to the
   * routers: what was released at or before it is announced by this node no more
   */
  readonly observedClaims?: string;
  readonly conditions?: readonly Condition[];
}

export interface IpNodeSession {
  readonly peer: string;
  readonly address: string;
  readonly state: 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established';
  readonly since?: string;
  readonly routesSent?: number;
  readonly routesReceived?: number;
  readonly lastError?: string;
  /** agreed hold time; 0: none, so that no router forgets by itself */
  readonly holdSeconds?: number;
  /** agreed time of graceful restart */
  readonly restartSeconds?: number;
  /** it is down: how long from its end its router may keep the routes, since nobody has told it */
  readonly keptSeconds?: number;
  /** families that it is meant to carry and does not, though it is up */
  readonly cannotCarry?: readonly { readonly family: Family; readonly message: string }[];
}

/**
 * So many levels have room in any case (ip-node-status.ts). A node lists as many only if all that it lists are moves: then some of what leaves
 * it may be missing. With fewer, all moves are there.
 */
export const LISTED_LEVELS = 300;

/**
 * Whether an address that the node does not list may be one that it refuses all the same: it refuses more than have room. Those without a ready endpoint of their own
 * are the most, and agents list them last: once one of them is listed all others are, so of what has neither checks nor a Local Service everything is known.
 */
export type CutShort = 'all' | 'healthy';

export function cutShortOf({ refused, refusedMore = 0 }: IpNodeStatus): CutShort | undefined {
  if (refusedMore === 0) return undefined;
  return refused?.at(-1)?.gate === 'healthy' ? 'healthy' : 'all';
}

export function mayBeCut(
  cutShort: CutShort | undefined,
  claim: Pick<IpClaim, 'checks' | 'services'>,
): boolean {
  if (cutShort !== 'healthy') return cutShort === 'all';
  return claim.checks.length > 0 || isLocal(claim);
}

export interface IpNodeRefusal {
  readonly address: string;
  readonly gate: string;
  readonly message: string;
}

/** `level` as it is on the wire, to every peer whose session is up */
export interface IpNodeLevel {
  readonly address: string;
  readonly level: 0 | 1 | 2;
}
