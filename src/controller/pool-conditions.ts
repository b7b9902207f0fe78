/** The status of a pool: how full it is, whether it is in force, what stands outside of it. Pure. */

import { formatAddress } from 'bgp-ts';
import type { ClaimRecord } from '../allocator/claim-record.ts';
import { type Advertisement, type IpPool, LEAST_LOCAL_PREF } from '../model/ip-pool.ts';
import {
  EXCLUSIVE_CLAIMS_CONDITION,
  OUT_OF_SERVICE_TAINT,
  READY_CONDITION,
} from '../model/names.ts';
import { poolSize } from '../model/pool-size.ts';
import type { CachedDocument } from './cached-document.ts';
import type { WantedCondition } from './conditions.ts';
import { MOST_AWAITED } from './release-rules.ts';

export const EXHAUSTED_CONDITION = 'Exhausted';
export const SHRUNK_CONDITION = 'ClaimsOutside';
export const AWAITING_CONDITION = 'AwaitingNodes';

/** the largest whole number of a 64-bit field that a JavaScript number can be */
const MOST = 2n ** 63n - 1024n;
const NAMED = 5;

export interface PoolStatus {
  readonly total: number;
  readonly used: number;
  readonly free: number;
  readonly conditions: readonly WantedCondition[];
}

export interface PoolUse {
  /** addresses of it that are not free */
  readonly taken: number;
  /** why it is not in force */
  readonly refused?: string;
  /** claims that were made from it and are not in it any more */
  readonly outside: readonly ClaimRecord[];
  /** claims of it are exclusive by their own words */
  readonly hasExclusiveClaims?: boolean;
  /** how many released addresses of it have long been waiting for each node's word that it has let go */
  readonly awaited?: ReadonlyMap<string, number>;
}

export function poolStatus(document: CachedDocument<IpPool>, use: PoolUse): PoolStatus {
  const size = document.ok ? poolSize(document.object) : 0n;
  const free = use.refused === undefined ? size - BigInt(use.taken) : 0n;
  const observedGeneration = document.meta.generation;
  const conditions = [
    ready(document, use.refused),
    exhausted(use, free),
    // of a pool that is not in force nobody knows what it would hold
    ...(use.refused === undefined ? [outside(use.outside)] : []),
    ...awaiting(document, use.awaited),
    ...exclusiveClaims(document, use.hasExclusiveClaims === true),
  ].map((condition) => ({ ...condition, observedGeneration }));
  return { total: bounded(size), used: use.taken, free: bounded(free), conditions };
}

function bounded(count: bigint): number {
  return Number(count < MOST ? count : MOST);
}

function ready(document: CachedDocument<IpPool>, refused: string | undefined): WantedCondition {
  const type = READY_CONDITION;
  if (refused !== undefined) {
    const reason = document.ok ? 'Overlaps' : 'Refused';
    return { type, status: 'False', reason, message: refused };
  }
  const ranges = document.ok ? document.object.ranges : [];
  const masked = ranges
    .filter((range) => range.masked === true)
    .map(
      ({ text, first, last }) =>
        `'${text}' means ${formatAddress(first)} to ${formatAddress(last)}`,
    );
  const notes = [...masked, ...lowPreference(document), ...unevenNodes(document)];
  const message = notes.length === 0 ? 'addresses are given out of it' : notes.join('; ');
  return { type, status: 'True', reason: 'Accepted', message };
}

/** A stored pool is not refused for what was legal when it was written. */
function lowPreference(document: CachedDocument<IpPool>): readonly string[] {
  if (!document.ok || document.object.placement.mode !== 'exclusive') return [];
  const low = document.object.advertisements.find(
    ({ localPref }) => localPref !== undefined && localPref < LEAST_LOCAL_PREF,
  );
  if (low === undefined) return [];
  const why = `six levels of preference need at least ${LEAST_LOCAL_PREF}, and so much is announced`;
  return [`localPref ${low.localPref} is too low for exclusive addresses: ${why}`];
}

/** Levels of preference are steps from what the holder has: with another beginning on each node those of two may meet. */
function unevenNodes(document: CachedDocument<IpPool>): readonly string[] {
  if (!document.ok || document.object.placement.mode !== 'exclusive') return [];
  const { advertisements } = document.object;
  const isUneven = advertisements.some((one, index) =>
    advertisements.slice(index + 1).some((other) => differByNode(one, other)),
  );
  if (!isUneven) return [];
  return [
    'prepend or localPref of its advertisements differ by node: while an exclusive address moves, a router may prefer the wrong node, or take two for equal',
  ];
}

function differByNode(one: Advertisement, other: Advertisement): boolean {
  const isSame = (key: 'peerSelector' | 'nodeSelector') =>
    JSON.stringify(one[key]) === JSON.stringify(other[key]);
  const isForOnePeer =
    isSame('peerSelector') || one.peerSelector === undefined || other.peerSelector === undefined;
  const { prepend = 0 } = one;
  const isEven = prepend === (other.prepend ?? 0) && one.localPref === other.localPref;
  return isForOnePeer && !isSame('nodeSelector') && !isEven;
}

function exhausted({ refused }: PoolUse, free: bigint): WantedCondition {
  const type = EXHAUSTED_CONDITION;
  if (free > 0n || refused !== undefined) {
    return { type, status: 'False', reason: 'AddressesFree', message: '' };
  }
  const message = 'every address of it is taken; add addresses, or a pool';
  return { type, status: 'True', reason: 'NoFreeAddress', message };
}

function outside(claims: readonly ClaimRecord[]): WantedCondition {
  const type = SHRUNK_CONDITION;
  if (claims.length === 0) return { type, status: 'False', reason: 'AllInside', message: '' };
  const names = claims.slice(0, NAMED).map(({ address }) => formatAddress(address));
  const more = claims.length > NAMED ? ` and ${claims.length - NAMED} more` : '';
  const what = `${names.join(', ')}${more} were given out of it and are not in it any more`;
  const message = `${what}; they are kept, and given to nobody else`;
  return { type, status: 'True', reason: 'PoolShrunk', message };
}

/** told while there is something to tell, and once more when it is over */
function awaiting(
  { meta }: CachedDocument<IpPool>,
  awaited: ReadonlyMap<string, number> = new Map(),
): readonly WantedCondition[] {
  const type = AWAITING_CONDITION;
  if (awaited.size === 0) {
    const isTold = meta.conditions.some((each) => each.type === type);
    return isTold ? [{ type, status: 'False', reason: 'AllConfirmed', message: '' }] : [];
  }
  const nodes = [...awaited].toSorted(
    ([one, few], [other, many]) => many - few || (one < other ? -1 : 1),
  );
  const named = nodes.slice(0, NAMED).map(([node, count]) => `${addresses(count)} node ${node}`);
  const rest = nodes.length < MOST_AWAITED ? `${nodes.length - NAMED} more` : 'others';
  const more = nodes.length > NAMED ? `, and some for ${rest}` : '';
  const what = `${named.join(', ')}${more} to confirm that it has let go of them`;
  const how = `if a machine is off, delete its Node, or give it the taint ${OUT_OF_SERVICE_TAINT} where it is to stay`;
  return [{ type, status: 'True', reason: 'NodesSilent', message: `${what}; ${how}` }];
}

/** For the agents: where it is True every node that may hold such a claim renews a Lease. Told as `awaiting` is. */
function exclusiveClaims(
  { meta }: CachedDocument<IpPool>,
  isThere: boolean,
): readonly WantedCondition[] {
  const type = EXCLUSIVE_CLAIMS_CONDITION;
  if (isThere) {
    const message =
      'claims of it say placement.mode exclusive themselves; nodes renew Leases for them';
    return [{ type, status: 'True', reason: 'ClaimsAskForIt', message }];
  }
  const isTold = meta.conditions.some((each) => each.type === type);
  return isTold ? [{ type, status: 'False', reason: 'NoClaimAsksForIt', message: '' }] : [];
}

function addresses(count: number): string {
  return count === 1 ? '1 released address waits for' : `${count} released addresses wait for`;
}
