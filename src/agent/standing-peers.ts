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
  const having = standing.filter((plan) => placeOf(plan) !== undefined);
  const names = new Set(having.map(({ peer }) => peer.name));
  const isWithout = (name: string) => Number(!names.has(name));
  return peers.toSorted((a, b) => isWithout(a.object.name) - isWithout(b.object.name));
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
