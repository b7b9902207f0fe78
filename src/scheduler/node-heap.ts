/**
 * The least loaded of many nodes, again and again, while loads grow. Pure. Several groups of claims share nodes, so a load may have
 * grown since a node was filed: it is filed again under what it has now when its turn comes. Loads never shrink in between.
 */

interface Entry {
  load: number;
  /** place by name: decides between equal loads */
  readonly order: number;
  readonly node: string;
}

export class NodeHeap {
  readonly #entries: Entry[];
  readonly #loadOf: (node: string) => number;

  /** `nodes` in the order in which equals are served */
  constructor(nodes: readonly string[], loadOf: (node: string) => number) {
    this.#loadOf = loadOf;
    this.#entries = nodes.map((node, order) => ({ load: loadOf(node), order, node }));
    this.#entries.sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  least(): string | undefined {
    for (;;) {
      const top = this.#entries[0];
      if (top === undefined) return undefined;
      const load = this.#loadOf(top.node);
      if (load === top.load) return top.node;
      top.load = load;
      this.#sink(top);
    }
  }

  /** puts an entry in place of the first one, and in order */
  #sink(entry: Entry): void {
    const entries = this.#entries;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = entries[left + 1];
      let child = entries[left];
      let childAt = left;
      if (child === undefined) break;
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        childAt = left + 1;
      }
      if (!isBefore(child, entry)) break;
      entries[at] = child;
      at = childAt;
    }
    entries[at] = entry;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.load === b.load ? a.order < b.order : a.load < b.load;
}
