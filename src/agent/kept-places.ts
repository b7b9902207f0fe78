/**
 * Which claims keep their place with a peer that takes no more (`maxRoutes`): exclusive ones of the API that have one. An older one that is moved here is
 * refused, not them: nobody else announces them, while the node that it comes from still announces that one, and the controller asks another node
 * (docs/decisions/0073). All other claims have their places by age. Pure.
 */

import type { Documents } from '../model/documents.ts';
import type { ClaimDecision, DesiredState } from './desired.ts';
import { planKey } from './peer-settings.ts';
import type { View } from './view.ts';

/** by session (planKey), which goes on where its BGPPeer is renamed: names of claims */
export type KeptPlaces = ReadonlyMap<string, ReadonlySet<string>>;

/** There is room for all, those on their way out as well: mostly they are in no document any more. */
export function isRoomy(
  { peers, claims }: Pick<Documents, 'peers' | 'claims'>,
  { departures }: Pick<View, 'departures'>,
): boolean {
  const most = claims.length + departures.size;
  return most <= Math.min(...peers.map(({ object }) => object.maxRoutes));
}

export function keptPlaces({ plans, claims }: Pick<DesiredState, 'plans' | 'claims'>): KeptPlaces {
  const byPeer = placesOf(claims);
  return new Map(
    plans.flatMap((plan) => {
      const names = byPeer.get(plan.peer.name);
      return plan.kind === 'refused' || names === undefined ? [] : [[planKey(plan), names]];
    }),
  );
}

function placesOf(decided: readonly ClaimDecision[]): KeptPlaces {
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
