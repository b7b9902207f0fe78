/**
 * Which claims keep their place with a peer that takes no more (`maxRoutes`): exclusive ones of the API that have one. An older one that is moved here is
 * refused, not them: nobody else announces them, while the node that it comes from still announces that one, and the controller asks another node
 * (docs/decisions/0073). All other claims have their places by age. Pure.
 */

import type { Documents } from '../model/documents.ts';
import type { ClaimDecision } from './desired.ts';

/** by peer: names of claims */
export type KeptPlaces = ReadonlyMap<string, ReadonlySet<string>>;

/** undefined: there is room for all */
export function keptPlaces(
  decided: readonly ClaimDecision[],
  { peers, claims }: Pick<Documents, 'peers' | 'claims'>,
): KeptPlaces | undefined {
  const least = Math.min(...peers.map(({ object }) => object.maxRoutes));
  if (claims.length <= least) return undefined;
  const kept = new Map<string, Set<string>>();
  for (const { subject, gates, peers: outcomes } of decided) {
    const { claim, level } = subject;
    const { assigned, pooled, notDraining } = gates;
    const isHere = [assigned, pooled, notDraining].every(({ state }) => state !== 'closed');
    if (claim.source !== 'api' || level === undefined || !isHere) continue;
    for (const { peer, allowed } of outcomes) {
      if (allowed.state === 'closed') continue;
      const names = kept.get(peer) ?? new Set();
      kept.set(peer, names.add(claim.object.name));
    }
  }
  return kept;
}
