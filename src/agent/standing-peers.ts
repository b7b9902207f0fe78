/**
 * Which of two BGPPeers that are one session has it, over a restart: a saved View lists whoever has a session before whoever has none. So it needs no
 * field of its own, and 0.1, which takes the first, comes to the same after a rollback. Pure.
 */

import type { Documents } from '../model/documents.ts';
import type { DocumentSource } from '../model/refusal.ts';
import { type PeerPlan, placeOf, planPeer } from './peer-settings.ts';
import { documentsFrom, type SavedView } from './saved-view.ts';
import type { View } from './view.ts';

/** BGPPeers for the saved View. */
export function standingFirst(
  peers: Documents['peers'],
  standing: readonly PeerPlan[],
): Documents['peers'] {
  const plans = new Map(standing.map((plan) => [plan.peer.name, plan]));
  const rank = (name: string) => {
    const plan = plans.get(name);
    if (plan === undefined || placeOf(plan) === undefined) return 2;
    // who waits for its key has no session that a restart could keep
    return plan.kind === 'refused' ? 1 : 0;
  };
  return peers.toSorted((a, b) => rank(a.object.name) - rank(b.object.name));
}

/** What stood when it was saved, twins behind: the first that has a session counts. */
export function savedPlans(
  saved: SavedView | undefined,
  source: DocumentSource,
  view: View,
): readonly PeerPlan[] {
  if (saved === undefined) return [];
  const { peers } = documentsFrom(saved, source);
  return peers.flatMap(({ object }) => planPeer(object, view) ?? []);
}
