/**
 * One claim that a less loaded node should have instead, where rebalancing is asked for. Pure. One at a time, and only a move after
 * which the two nodes are closer together: repeated, it comes to rest.
 */

import type { AssignClaim, AssignView } from './assign.ts';

export interface RebalanceMove {
  readonly claim: string;
  readonly from: string;
  readonly to: string;
}

/** undefined: no move makes it fairer. Of equal gains the first claim by name. */
export function rebalance(view: AssignView): RebalanceMove | undefined {
  const loads = new Map(view.loads);
  for (const { node } of view.claims) {
    if (node !== undefined) loads.set(node, (loads.get(node) ?? 0) + 1);
  }
  const loadOf = (node: string) => loads.get(node) ?? 0;
  const targets = new Map<string, string | undefined>();
  for (const [group, { eligible }] of view.groups) targets.set(group, least(eligible, loadOf));
  let best: Candidate | undefined;
  for (const claim of view.claims) {
    const { name, group, node } = claim;
    const to = targets.get(group);
    if (node === undefined || to === undefined || !mayMove(claim, view)) continue;
    const candidate = { claim: name, from: node, to, gain: loadOf(node) - loadOf(to) };
    if (isBetter(candidate, best)) best = candidate;
  }
  return best === undefined ? undefined : { claim: best.claim, from: best.from, to: best.to };
}

interface Candidate extends RebalanceMove {
  readonly gain: number;
}

function mayMove({ nodeFilter, node = '', group }: AssignClaim, { groups }: AssignView): boolean {
  return nodeFilter === 'fair' && groups.get(group)?.keeps.has(node) !== true;
}

/** a difference of one would only change sides */
function isBetter(one: Candidate, other: Candidate | undefined): boolean {
  if (one.gain < 2) return false;
  if (other === undefined || one.gain > other.gain) return true;
  return one.gain === other.gain && one.claim < other.claim;
}

function least(nodes: readonly string[], loadOf: (node: string) => number): string | undefined {
  let best: string | undefined;
  for (const node of nodes) if (best === undefined || loadOf(node) < loadOf(best)) best = node;
  return best;
}
