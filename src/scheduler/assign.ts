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

/** The same for one claim alone, where `loadOf` counts all the others; `least`: who gets it where `fair` may choose freely. */
export function assignOne(
  claim: AssignClaim,
  group: NodeGroup,
  loadOf: (node: string) => number,
  least = () => leastOf(group.eligible, loadOf),
): Decision {
  const isEligible = (node: string) => holds(group.eligible, node);
  if (mayStay(claim, group, isEligible)) {
    return { kind: 'keep', claim: claim.name, node: claim.node };
  }
  const node = nodeFor(claim, group, { isEligible, loadOf, least });
  return node === undefined
    ? { kind: 'none', claim: claim.name }
    : { kind: 'place', claim: claim.name, node };
}

type PlacedClaim = AssignClaim & { readonly node: string };

function mayStay(
  claim: AssignClaim,
  { keeps }: NodeGroup,
  isEligible: (node: string) => boolean,
): claim is PlacedClaim {
  const { node, avoid } = claim;
  if (node === undefined || avoid?.has(node) === true) return false;
  return keeps.has(node) || isEligible(node);
}

interface Scales {
  readonly isEligible: (node: string) => boolean;
  readonly loadOf: (node: string) => number;
  /** the least loaded of all that are eligible */
  readonly least: () => string | undefined;
}

function nodeFor(claim: AssignClaim, { eligible }: NodeGroup, scales: Scales): string | undefined {
  const isOpen = (node: string) => claim.avoid?.has(node) !== true;
  const near = claim.near?.find((node) => isOpen(node) && scales.isEligible(node));
  if (near !== undefined) return near;
  if (claim.nodeFilter === 'first-alive') return eligible.find(isOpen) ?? eligible[0];
  if (claim.avoid === undefined || claim.avoid.size === 0) return scales.least();
  return leastOf(eligible.filter(isOpen), scales.loadOf) ?? scales.least();
}

/** the first of them, where several are */
export function leastOf(
  nodes: readonly string[],
  loadOf: (node: string) => number,
): string | undefined {
  let best: string | undefined;
  let bestLoad = Number.POSITIVE_INFINITY;
  for (const node of nodes) {
    const load = loadOf(node);
    if (load >= bestLoad) continue;
    best = node;
    bestLoad = load;
  }
  return best;
}

/** in names that are in order */
function holds(names: readonly string[], name: string): boolean {
  let from = 0;
  let to = names.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    const found = names[middle] ?? name;
    if (found === name) return true;
    if (found < name) from = middle + 1;
    else to = middle;
  }
  return false;
}

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
    return mayStay(claim, this.#group(claim), (node) => this.#isEligible(claim, node));
  }

  count(node: string): void {
    this.#loads.set(node, this.#load(node) + 1);
  }

  place(claim: AssignClaim): Decision {
    const node = nodeFor(claim, this.#group(claim), {
      isEligible: (each) => this.#isEligible(claim, each),
      loadOf: (each) => this.#load(each),
      least: () => this.#heap(claim.group).least(),
    });
    if (node === undefined) return { kind: 'none', claim: claim.name };
    this.count(node);
    return { kind: 'place', claim: claim.name, node };
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
