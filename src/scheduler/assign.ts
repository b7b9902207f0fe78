/**
 * Who holds which exclusive claim. Pure: claims, and per group of claims the nodes that may have one → a node per claim. Not how a
 * claim gets there without a gap (move.ts), nor who may have one (eligible.ts).
 *
 * A claim that has a node keeps it for as long as the node may keep it: nodes that join or come back move nothing. A claim that
 * needs one gets it by its filter; each decision counts for the next one, so a burst is spread like a trickle.
 */

import { NodeHeap } from './node-heap.ts';

export interface AssignView {
  readonly claims: readonly AssignClaim[];
  readonly groups: ReadonlyMap<string, NodeGroup>;
  /** claims per node that are not in `claims` but weigh as much */
  readonly loads?: ReadonlyMap<string, number>;
}

/** What claims of one kind (pool, placement) find. */
export interface NodeGroup {
  /** may be given a claim; in the order of their names */
  readonly eligible: readonly string[];
  /** nothing new goes there, but what is there stays: nobody knows better yet */
  readonly keeps: ReadonlySet<string>;
}

export interface AssignClaim {
  readonly name: string;
  readonly group: string;
  readonly nodeFilter: 'fair' | 'first-alive';
  /** who has it now */
  readonly node?: string;
  /** nodes that have a part in it already, the best first: they are asked before others */
  readonly near?: readonly string[];
  /** nodes that were asked and did not take it up */
  readonly avoid?: ReadonlySet<string>;
}

export type Decision =
  | { readonly kind: 'keep'; readonly claim: string; readonly node: string }
  | { readonly kind: 'place'; readonly claim: string; readonly node: string }
  /** nobody may have it: it stays where it is, if anywhere */
  | { readonly kind: 'none'; readonly claim: string };

const NOBODY: NodeGroup = { eligible: [], keeps: new Set() };

/** One decision per claim, in the order of their names: the same view gives the same answer. */
export function assign(view: AssignView): Decision[] {
  const claims = byName(view.claims);
  const table = new Assignment(view);
  // who stays weighs before anybody is placed
  for (const claim of claims) if (table.mayStay(claim)) table.count(claim.node);
  return claims.map((claim) =>
    table.mayStay(claim)
      ? { kind: 'keep', claim: claim.name, node: claim.node }
      : table.place(claim),
  );
}

/** Callers mostly have them in order already. */
function byName(claims: readonly AssignClaim[]): readonly AssignClaim[] {
  const isOrdered = claims.every((claim, index) => {
    const before = claims[index - 1];
    return before === undefined || before.name <= claim.name;
  });
  return isOrdered ? claims : claims.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

type PlacedClaim = AssignClaim & { readonly node: string };

class Assignment {
  readonly #groups: ReadonlyMap<string, NodeGroup>;
  readonly #members = new Map<string, ReadonlySet<string>>();
  readonly #loads: Map<string, number>;
  readonly #heaps = new Map<string, NodeHeap>();

  constructor({ groups, loads = new Map() }: AssignView) {
    this.#groups = groups;
    this.#loads = new Map(loads);
  }

  mayStay(claim: AssignClaim): claim is PlacedClaim {
    const { node } = claim;
    if (node === undefined || claim.avoid?.has(node) === true) return false;
    return this.#group(claim).keeps.has(node) || this.#isEligible(claim, node);
  }

  count(node: string): void {
    this.#loads.set(node, (this.#loads.get(node) ?? 0) + 1);
  }

  place(claim: AssignClaim): Decision {
    const node = this.#nodeFor(claim);
    if (node === undefined) return { kind: 'none', claim: claim.name };
    this.count(node);
    return { kind: 'place', claim: claim.name, node };
  }

  #nodeFor(claim: AssignClaim): string | undefined {
    const isOpen = (node: string) => claim.avoid?.has(node) !== true;
    const near = claim.near?.find((node) => isOpen(node) && this.#isEligible(claim, node));
    if (near !== undefined) return near;
    const { eligible } = this.#group(claim);
    if (claim.nodeFilter === 'first-alive') return eligible.find(isOpen) ?? eligible[0];
    if (claim.avoid === undefined || claim.avoid.size === 0) return this.#heap(claim.group).least();
    return this.#leastOf(eligible.filter(isOpen)) ?? this.#heap(claim.group).least();
  }

  /** for the few claims that cannot use the heap */
  #leastOf(nodes: readonly string[]): string | undefined {
    let best: string | undefined;
    for (const node of nodes) {
      if (best === undefined || this.#load(node) < this.#load(best)) best = node;
    }
    return best;
  }

  #heap(group: string): NodeHeap {
    const known = this.#heaps.get(group);
    if (known !== undefined) return known;
    const nodes = this.#groups.get(group)?.eligible ?? [];
    const heap = new NodeHeap(nodes, (node) => this.#load(node));
    this.#heaps.set(group, heap);
    return heap;
  }

  #load(node: string): number {
    return this.#loads.get(node) ?? 0;
  }

  #group({ group }: AssignClaim): NodeGroup {
    return this.#groups.get(group) ?? NOBODY;
  }

  #isEligible(claim: AssignClaim, node: string): boolean {
    const known = this.#members.get(claim.group);
    if (known !== undefined) return known.has(node);
    const members = new Set(this.#group(claim).eligible);
    this.#members.set(claim.group, members);
    return members.has(node);
  }
}
