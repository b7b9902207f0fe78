/**
 * Claims by the nodes that have a part in them, and how many each node holds. Decisions count from the moment they are made: what is on
 * its way to the API weighs for the next one. No I/O.
 */

import type { IpClaim } from '../model/ip-claim.ts';
import { isNodeLabel, nodeLabel } from '../model/names.ts';

export class PlacementIndex {
  readonly #holders = new Map<string, string>();
  readonly #loads = new Map<string, number>();
  readonly #labels = new Map<string, readonly string[]>();
  readonly #byLabel = new Map<string, Set<string>>();

  /** A claim as it is; undefined: it is gone, or none of the scheduler's. */
  set(name: string, claim: Pick<IpClaim, 'labels' | 'node'> | undefined): void {
    this.hold(name, claim?.node);
    for (const label of this.#labels.get(name) ?? []) this.#part(label, name);
    this.#labels.delete(name);
    if (claim === undefined) return;
    const labels = new Set(Object.keys(claim.labels).filter(isNodeLabel));
    if (claim.node !== undefined) labels.add(nodeLabel(claim.node));
    this.#labels.set(name, [...labels]);
    for (const label of labels) {
      const claims = this.#byLabel.get(label) ?? new Set();
      claims.add(name);
      this.#byLabel.set(label, claims);
    }
  }

  /** Who shall hold it, decided but perhaps not written yet. */
  hold(name: string, node: string | undefined): void {
    const before = this.#holders.get(name);
    if (before === node) return;
    if (before !== undefined) this.#unload(before);
    if (node === undefined) this.#holders.delete(name);
    else {
      this.#holders.set(name, node);
      this.#loads.set(node, this.load(node) + 1);
    }
  }

  #unload(node: string): void {
    const load = this.load(node) - 1;
    if (load > 0) this.#loads.set(node, load);
    else this.#loads.delete(node);
  }

  #part(label: string, name: string): void {
    const claims = this.#byLabel.get(label);
    claims?.delete(name);
    if (claims?.size === 0) this.#byLabel.delete(label);
  }

  load(node: string): number {
    return this.#loads.get(node) ?? 0;
  }

  /** without this claim's own weight */
  loadBeside(name: string, node: string): number {
    return this.load(node) - (this.#holders.get(name) === node ? 1 : 0);
  }

  claimsOf(node: string): Iterable<string> {
    return this.#byLabel.get(nodeLabel(node)) ?? [];
  }
}
