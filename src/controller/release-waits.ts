/**
 * Which released claims wait for which nodes, so that the report of a node is held against those alone that wait for it. A thousand nodes
 * report all day; a claim that waits for one machine which is off is looked at when that machine says something. No I/O, no rules: when
 * nobody is left the claim is looked at as a whole (release-rules.ts).
 */

export class ReleaseWaits {
  /** by claim, the nodes that have not confirmed */
  readonly #missing = new Map<string, Set<string>>();
  /** by node, the claims that wait for it */
  readonly #claims = new Map<string, Set<string>>();

  /** In place of whatever was known of the claim. */
  set(claim: string, nodes: readonly string[]): void {
    this.forget(claim);
    this.#missing.set(claim, new Set(nodes));
    for (const node of nodes) {
      const waiting = this.#claims.get(node) ?? new Set<string>();
      waiting.add(claim);
      this.#claims.set(node, waiting);
    }
  }

  forget(claim: string): void {
    for (const node of this.#missing.get(claim) ?? []) this.#drop(node, claim);
    this.#missing.delete(claim);
  }

  /** nodes that a claim waits for */
  nodesOf(claim: string): Iterable<string> {
    return this.#missing.get(claim) ?? [];
  }

  /** The node has said something, or is gone: which claims now wait for nobody. `isHeld`: it is still waited for. */
  take(node: string, isHeld: (claim: string) => boolean): readonly string[] {
    const freed: string[] = [];
    for (const claim of [...(this.#claims.get(node) ?? [])]) {
      if (isHeld(claim)) continue;
      this.#drop(node, claim);
      const missing = this.#missing.get(claim);
      missing?.delete(node);
      if (missing?.size === 0) freed.push(claim);
    }
    return freed;
  }

  #drop(node: string, claim: string): void {
    const waiting = this.#claims.get(node);
    waiting?.delete(claim);
    if (waiting?.size === 0) this.#claims.delete(node);
  }
}
