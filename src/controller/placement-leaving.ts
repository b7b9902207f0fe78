/**
 * Orderly moves under way, by the node that is left: it answers for so many at once in its status, the others stand in line. No I/O. Nodes
 * are known by their labels here.
 */

import type { PreferenceLevel } from '../model/names.ts';

/** moves under way from one node: what it can answer at once (ip-node-status.ts) */
const MOST_FROM_ONE = 300;

export class PlacementLeaving {
  /** by claim: the label of who leaves */
  readonly #leaving = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #lines = new Map<string, Set<string>>();

  /** labels of nodes of which anything is kept */
  get labels(): readonly string[] {
    return [...this.#counts.keys(), ...this.#lines.keys()];
  }

  has(name: string): boolean {
    return this.#leaving.has(name);
  }

  isFull(label: string): boolean {
    return (this.#counts.get(label) ?? 0) >= MOST_FROM_ONE;
  }

  lineUp(name: string, label: string): void {
    this.#lines.set(label, (this.#lines.get(label) ?? new Set()).add(name));
  }

  begin(name: string, label: string): void {
    this.#leaving.set(name, label);
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + 1);
  }

  /** the claim whose turn it is now */
  end(name: string): string | undefined {
    const label = this.#leaving.get(name);
    if (label === undefined) return undefined;
    this.#leaving.delete(name);
    const others = (this.#counts.get(label) ?? 1) - 1;
    if (others > 0) this.#counts.set(label, others);
    else this.#counts.delete(label);
    const line = this.#lines.get(label) ?? new Set();
    const [first] = line;
    if (first !== undefined) line.delete(first);
    if (line.size === 0) this.#lines.delete(label);
    return first;
  }
}

/** the label of a holder that is told to step down, where the write does that */
export function steppedDown(
  levels: ReadonlyMap<string, PreferenceLevel>,
  labels: Readonly<Record<string, string | null>>,
): string | undefined {
  return Object.keys(labels).find(
    (label) => levels.get(label) === 0 && labels[label] !== null && labels[label] !== '0',
  );
}
