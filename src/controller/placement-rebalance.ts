/** The exclusive claims of the cluster as rebalancing looks at them. No I/O. */

import { isLocal } from '../model/ip-claim.ts';
import { type RebalanceMove, rebalance } from '../scheduler/rebalance.ts';
import type { PlacementNodes } from './placement-nodes.ts';
import type { PlacementSubject } from './placement-subject.ts';

/** undefined: no move makes it fairer. Where those go that a node refuses, or that only some nodes can serve, is not for numbers to say. */
export function rebalanceOf(
  subjects: Iterable<PlacementSubject>,
  nodes: PlacementNodes,
  isRefused: (name: string) => boolean,
): RebalanceMove | undefined {
  const exclusive = [...subjects].filter(
    ({ name, claim, placement }) =>
      placement.mode === 'exclusive' && !isLocal(claim) && !isRefused(name),
  );
  const groups = new Map(exclusive.map(({ group, demand }) => [group, nodes.group(group, demand)]));
  const claims = exclusive.map(({ name, group, placement: { nodeFilter }, claim: { node } }) => ({
    name,
    group,
    nodeFilter,
    ...(node !== undefined && { node }),
  }));
  const demands = new Map(exclusive.map(({ name, group, demand }) => [name, { group, demand }]));
  for (;;) {
    const move = rebalance({ claims, groups });
    const about = demands.get(move?.claim ?? '');
    if (move === undefined || about === undefined) return move;
    const { group, demand } = about;
    // a router would lose its path for the sake of numbers: the next one that has few
    if (!nodes.lacksRouterOf(move.from, move.to, demand)) return move;
    const { eligible, keeps } = nodes.group(group, demand);
    const before = groups.get(group)?.eligible ?? eligible;
    groups.set(group, { eligible: before.filter((name) => name !== move.to), keeps });
  }
}
