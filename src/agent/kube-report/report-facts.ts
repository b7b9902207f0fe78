/** From an agent to what its IPNode tells. Looks, decides nothing. */

import type { ClusterNode } from '../../model/cluster-node.ts';
import type { Documents } from '../../model/documents.ts';
import type { IpClaim } from '../../model/ip-claim.ts';
import type { IpNodeRefusal } from '../../model/ip-node.ts';
import { selects } from '../../model/labels.ts';
import { levelOf, type PreferenceLevel } from '../../model/names.ts';
import type { Announced } from '../announced.ts';
import type { DesiredState } from '../desired.ts';
import { type ClaimRefusal, refusalsOf } from '../refusals.ts';
import type { AgentStatus } from '../status.ts';
import type { ReportFacts } from './ip-node-status.ts';
import type { UnsettledLevels } from './unsettled-levels.ts';

/** What the report reads of an agent. */
export interface ReportedAgent {
  status(scope: { readonly claims: false }): AgentStatus;
  readonly decided: DesiredState;
  readonly announced: Announced;
  readonly documents: Documents | undefined;
  readonly clusterNode: ClusterNode | undefined;
  subscribe(onChange: () => void): () => void;
  setFenced(sinceMs: number | undefined): void;
  setObjection(sentence: string | undefined): void;
  guard(check: () => void): void;
}

export function reportFacts(
  agent: ReportedAgent,
  levels: UnsettledLevels,
  nowMs: number,
): ReportFacts | undefined {
  if (agent.documents === undefined) return undefined;
  const { joined, draining, stale, sessions } = agent.status({ claims: false });
  const { announced } = agent;
  const claims = apiClaims(agent.documents);
  const refused = exceptions(refusalsOf(agent.decided), draining !== undefined);
  return {
    joined: { isOpen: joined.state === 'open', sentence: joined.sentence, since: joined.since },
    ...(draining === undefined ? {} : { draining }),
    ...(stale === undefined ? {} : { stale }),
    sessions,
    announced: announced.routes,
    refused,
    refusedCount: refused.length,
    levels: levels.take(claims, announced.levels, nowMs),
    ...(announced.observedClaims === undefined
      ? {}
      : { observedClaims: String(announced.observedClaims) }),
    released: claims.flatMap((claim) => (isReleased(claim) ? claim.name : [])),
  };
}

function apiClaims({ claims }: Documents): readonly IpClaim[] {
  return claims.flatMap(({ object, source }) => (source === 'api' ? object : []));
}

/** its last Service has left it; who withdraws for another reason leaves them in */
function isReleased({ withdrawn, services }: IpClaim): boolean {
  return withdrawn !== undefined && services.length === 0;
}

/**
 * What a person would look for. Not: claims of other nodes, what the node as a whole says already, and peers that were never meant to
 * have a claim.
 */
function exceptions(
  refusals: readonly ClaimRefusal[],
  isDraining: boolean,
): readonly IpNodeRefusal[] {
  return refusals.flatMap(({ address, gate, message, peer, isLimit }) => {
    if (gate === 'joined' || gate === 'assigned') return [];
    if (gate === 'not-draining' && isDraining) return [];
    return peer !== undefined && isLimit !== true ? [] : { address, gate, message };
  });
}

/** Where this node stands with the exclusive claims of the API, by their labels. */
export function ownLevels(
  documents: Documents | undefined,
  node: string,
): ReadonlyMap<string, PreferenceLevel> {
  const claims = documents === undefined ? [] : apiClaims(documents);
  return new Map(
    claims.flatMap(({ name, labels }) => {
      const level = levelOf(labels, node);
      return level === undefined ? [] : [[name, level] as const];
    }),
  );
}

/** An exclusive claim is here, or a pool may place one here. */
export function needsLease(
  documents: Documents | undefined,
  node: ClusterNode | undefined,
): boolean {
  if (documents === undefined || node === undefined) return false;
  const mayComeFrom = documents.pools.some(
    ({ object: { placement }, source }) =>
      source === 'api' &&
      placement.mode === 'exclusive' &&
      selects(placement.nodeSelector, node.labels),
  );
  return mayComeFrom || hasExclusiveClaim(apiClaims(documents), node.name);
}

function hasExclusiveClaim(claims: readonly IpClaim[], node: string): boolean {
  return claims.some(
    ({ labels, placement }) =>
      placement?.mode === 'exclusive' || levelOf(labels, node) !== undefined,
  );
}
