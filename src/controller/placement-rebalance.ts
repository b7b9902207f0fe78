/** The exclusive claims of the cluster as rebalancing looks at them. No I/O. */

import { type RebalanceMove, rebalance } from '../scheduler/rebalance.ts';
import type { PlacementNodes } from './placement-nodes.ts';
import type { PlacementSubject } from './placement-subject.ts';

/** undefined: no move makes it fairer. Where those go that are not free is not for numbers to say. */
export function rebalanceOf(
  subjects: Iterable<PlacementSubject>,
  nodes: PlacementNodes,
  isFree: (subject: PlacementSubject) => boolean,
): RebalanceMove | undefined {
  const exclusive = [...subjects].filter(
    (subject) => subject.placement.mode === 'exclusive' && isFree(subject),
  );
  const groups = new Map(exclusive.map(({ group, demand }) => [group, nodes.group(group, demand)]));
  const claims = exclusive.map(({ name, group, placement: { nodeFilter }, claim: { node } }) => ({
    name,
    group,
    nodeFilter,
    ...(node !== undefined && { node }),
  }));
  return rebalance({ claims, groups });
}
