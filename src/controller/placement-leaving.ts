/**
 * Orderly moves under way, by a node that has to answer: the one that leaves, or the one that comes. It answers for so many at once in its status, the
 * others stand in line. No I/O. Nodes are known by their labels here.
 */

import { nodeLabel, type PreferenceLevel } from '../model/names.ts';
import type { ClaimWrite } from './placement-next.ts';

/** moves under way from one node, and to one: what it can answer at once (unsettled-levels.ts, ip-node-status.ts) */
const MOST_OF_ONE = 300;

export class MovesByNode {
  /** by claim: the label of the node */
  readonly #moves = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #lines = new Map<string, Set<string>>();
  readonly #requeue: (name: string) => void;

  constructor(requeue: (name: string) => void) {
    this.#requeue = requeue;
  }

  /** labels of nodes of which anything is kept */
  get labels(): readonly string[] {
    return [...this.#counts.keys(), ...this.#lines.keys()];
  }

  has(name: string): boolean {
    return this.#moves.has(name);
  }

  /** false: it stands in line from now on, and is looked at again when it has its turn */
  mayBegin(name: string, label: string): boolean {
    if ((this.#counts.get(label) ?? 0) < MOST_OF_ONE) return true;
    this.#lines.set(label, (this.#lines.get(label) ?? new Set()).add(name));
    return false;
  }

  begin(name: string, label: string): void {
    this.end(name);
    this.#moves.set(name, label);
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + 1);
  }

  /** the first in line has its turn now */
  end(name: string): void {
    const label = this.#moves.get(name);
    if (label === undefined) return;
    this.#moves.delete(name);
    const others = (this.#counts.get(label) ?? 1) - 1;
    if (others > 0) this.#counts.set(label, others);
    else this.#counts.delete(label);
    const line = this.#lines.get(label) ?? new Set();
    const [first] = line;
    if (first !== undefined) line.delete(first);
    if (line.size === 0) this.#lines.delete(label);
    if (first !== undefined) this.#requeue(first);
  }
}

/** the label of a holder that is told to step down, where the write does that */
export function steppedDown(
  levels: ReadonlyMap<string, PreferenceLevel>,
  { labels }: ClaimWrite,
): string | undefined {
  return Object.keys(labels).find(
    (label) => levels.get(label) === 0 && labels[label] !== null && labels[label] !== '0',
  );
}

/** the label of the next holder, where others keep theirs until it has answered */
export function steppedUp(
  levels: ReadonlyMap<string, PreferenceLevel>,
  { labels, node }: ClaimWrite,
): string | undefined {
  const label = typeof node === 'string' ? nodeLabel(node) : undefined;
  if (label === undefined || labels[label] !== '0') return undefined;
  const others = [...levels.keys()].filter((each) => each !== label && labels[each] !== null);
  return others.length === 0 ? undefined : label;
}
