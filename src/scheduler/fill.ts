/**
 * Where the claims of one node go that it may not keep: each node that is given some gets at once what it would have in the end, and not one now and
 * another when everybody else has had theirs. The end is the same, but a node answers for all of its new claims with one write, and a node with
 * thousands of claims that is lost costs the API a third of the answers. Nobody gets more than the level to which all rise. No I/O; it
 * remembers whom it fills.
 */

import { leastOf } from './assign.ts';

export interface FillRequest {
  /** who may not keep them */
  readonly from: string;
  readonly group: string;
  readonly eligible: readonly string[];
  /** of `from`, this one counted: those that still have no other node */
  readonly waiting: number;
  readonly loadOf: (node: string) => number;
}

export class Filling {
  #from = '';
  #group = '';
  #node: string | undefined;
  #level = 0;

  /** for one claim; the caller counts it before it asks for the next */
  next({ from, group, eligible, waiting, loadOf }: FillRequest): string | undefined {
    if (from === this.#from && group === this.#group) {
      const node = eligible.find((each) => each === this.#node);
      if (node !== undefined && loadOf(node) < this.#level) return node;
    }
    this.#from = from;
    this.#group = group;
    this.#node = leastOf(eligible, loadOf);
    this.#level = fillLevel(eligible.map(loadOf), waiting);
    return this.#node;
  }
}

/** The highest level to which so many more claims lift all that are below it. */
export function fillLevel(loads: readonly number[], count: number): number {
  const rising = loads.toSorted((one, other) => one - other);
  const [least = 0] = rising;
  let level = least;
  let rest = count;
  for (const [index, load] of rising.entries()) {
    const below = index + 1;
    const next = rising[below] ?? Number.POSITIVE_INFINITY;
    const cost = (next - load) * below;
    if (cost > rest) return level + Math.floor(rest / below);
    rest -= cost;
    level = next;
  }
  return level;
}
