/**
 * What the controller's caches say in numbers, for metrics: read from the caches when somebody asks, so that nothing is counted twice
 * and what is gone is gone from the numbers too. Pure over what it is given.
 */

import { ALLOCATED_CONDITION } from '../allocator/decision.ts';
import { claimPhase } from '../model/claim-phase.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpNode } from '../model/ip-node.ts';
import { READY_CONDITION, RELEASED_BY_ANNOTATION } from '../model/names.ts';
import type { CachedDocument, DocumentMeta } from './cached-document.ts';
import type { ControllerCaches } from './caches.ts';
import { isTwin } from './peer-status.ts';

export interface ControllerFacts {
  readonly isLeading: boolean;
  readonly unsynced: readonly string[];
  readonly pools: readonly PoolFacts[];
  readonly peers: readonly PeerFacts[];
  readonly claims: Readonly<Record<ClaimPhase, number>>;
  /** Services of ours without the addresses that they shall have, by the condition's reason */
  readonly waiting: ReadonlyMap<string, number>;
  /** objects that cannot be used as they are, by kind */
  readonly refusedDocuments: Readonly<Record<'pools' | 'claims' | 'peers', number>>;
  readonly nodes: Readonly<Record<NodeState, number>>;
}

export interface PoolFacts {
  readonly name: string;
  readonly total: number;
  readonly used: number;
  readonly free: number;
}

export interface PeerFacts {
  readonly name: string;
  readonly nodes: number;
  readonly established: number;
}

export const CLAIM_PHASES = ['pending', 'placed', 'refused', 'withdrawn', 'released'] as const;
export type ClaimPhase = (typeof CLAIM_PHASES)[number];
export const NODE_STATES = ['joined', 'not-joined', 'draining'] as const;
export type NodeState = (typeof NODE_STATES)[number];

type ReadCaches = Pick<
  ControllerCaches,
  'services' | 'ipNodes' | 'claims' | 'pools' | 'peers' | 'unsynced'
>;

export function controllerFacts(caches: ReadCaches, isLeading: boolean): ControllerFacts {
  return {
    isLeading,
    unsynced: caches.unsynced,
    pools: [...caches.pools.items.values()].map(({ meta: { name, status } }) => ({
      name,
      total: count(status['total']),
      used: count(status['used']),
      free: count(status['free']),
    })),
    peers: [...caches.peers.items.values()].map(({ meta: { name, status } }) => ({
      name,
      nodes: count(status['nodes']),
      established: count(status['established']),
    })),
    claims: tally(CLAIM_PHASES, [...caches.claims.items.values()].map(phaseOf)),
    waiting: waitingOf(caches),
    refusedDocuments: {
      pools: refused(caches.pools.items.values(), isOverlapping),
      claims: refused(caches.claims.items.values()),
      peers: refused(caches.peers.items.values(), isTwin),
    },
    nodes: tally(NODE_STATES, [...caches.ipNodes.items.values()].map(stateOf)),
  };
}

function phaseOf(claim: CachedDocument<IpClaim>): ClaimPhase {
  if (claim.meta.annotations[RELEASED_BY_ANNOTATION] !== undefined) return 'released';
  if (!claim.ok) return 'refused';
  if (claim.object.withdrawn !== undefined) return 'withdrawn';
  const phase = claimPhase(claim.meta.status['phase'], claim.meta.labels).toLowerCase();
  return CLAIM_PHASES.find((known) => known === phase) ?? 'pending';
}

function stateOf({ status: { joined, draining } }: IpNode): NodeState {
  if (joined?.open !== true) return 'not-joined';
  return draining === undefined ? 'joined' : 'draining';
}

function waitingOf({ services }: ReadCaches): ReadonlyMap<string, number> {
  const waiting = new Map<string, number>();
  for (const { conditions, isBeingDeleted } of services.items.values()) {
    const allocated = conditions.find(({ type }) => type === ALLOCATED_CONDITION);
    if (allocated?.status !== 'False' || isBeingDeleted) continue;
    waiting.set(allocated.reason, (waiting.get(allocated.reason) ?? 0) + 1);
  }
  return waiting;
}

/** those that cannot be read, and those that cannot be beside another one */
function refused<T>(
  entries: Iterable<CachedDocument<T>>,
  isInTheWay: (meta: DocumentMeta) => boolean = () => false,
): number {
  let found = 0;
  for (const { ok, meta } of entries) found += ok && !isInTheWay(meta) ? 0 : 1;
  return found;
}

function isOverlapping({ conditions }: DocumentMeta): boolean {
  return conditions.some(({ type, status }) => type === READY_CONDITION && status === 'False');
}

function tally<W extends string>(words: readonly W[], found: readonly W[]): Record<W, number> {
  const counts = Object.fromEntries(words.map((word) => [word, 0])) as Record<W, number>;
  for (const word of found) counts[word] += 1;
  return counts;
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
