/**
 * Where the claims of one node go that it may not keep: a node that is given one gets a few more with it, up to what it would have in the end, and not
 * one now and another when everybody else has had theirs. The end is the same, but it answers for them with one write instead of several. Few,
 * because a node that comes back in the middle keeps the rest, and then nobody evens out what was given. No I/O; it remembers whom it fills.
 */

import { leastOf } from './assign.ts';

export interface FillRequest {
  /** who may not keep them */
  readonly from: string;
  readonly group: string;
  /** the same list for as long as the same nodes are in it */
  readonly eligible: readonly string[];
  /** of this group and `from`, this one counted: those that still have no other node */
  readonly waiting: number;
  readonly loadOf: (node: string) => number;
}

/** claims that one node gets in a row */
export const MOST_IN_A_ROW = 4;

interface Row {
  readonly node: string;
  /** nobody gets more than all will have */
  readonly level: number;
  left: number;
}

export class Filling {
  #last: FillRequest | undefined;
  #row: Row | undefined;

  /** for one claim; the caller counts it before it asks for the next */
  next(request: FillRequest): string | undefined {
    const row = this.#goesOn(request) ? this.#row : this.#begin(request);
    this.#last = request;
    this.#row = row;
    if (row !== undefined) row.left -= 1;
    return row?.node;
  }

  #goesOn({ from, group, eligible, waiting, loadOf }: FillRequest): boolean {
    const [last, row] = [this.#last, this.#row];
    if (last === undefined || row === undefined || row.left === 0) return false;
    const isSame = from === last.from && group === last.group && eligible === last.eligible;
    return isSame && waiting <= last.waiting && loadOf(row.node) < row.level;
  }

  #begin({ eligible, waiting, loadOf }: FillRequest): Row | undefined {
    const node = leastOf(eligible, loadOf);
    if (node === undefined) return undefined;
    // the last one goes to the least loaded whatever the level is
    const level = waiting <= 1 ? 0 : fillLevel(eligible.map(loadOf), waiting);
    return { node, level, left: MOST_IN_A_ROW };
  }
}

/** The highest level to which so many more claims lift all that are below it. */
export function fillLevel(loads: readonly number[], count: number): number {
  const rising = loads.toSorted((one, other) => one - other);
  let rest = count;
  for (const [index, load] of rising.entries()) {
    const below = index + 1;
    const cost = ((rising[below] ?? Number.POSITIVE_INFINITY) - load) * below;
    if (cost > rest) return load + Math.floor(rest / below);
    rest -= cost;
  }
  return 0;
}
