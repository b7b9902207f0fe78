/**
 * Claims by the nodes that have a part in them, and how many each node holds. Decisions count from the moment they are made: what is on
 * its way to the API weighs for the next one. No I/O.
 */

import type { IpClaim } from '../model/ip-claim.ts';
import { isNodeLabel, nodeLabel } from '../model/names.ts';

export class PlacementIndex {
  readonly #holders = new Map<string, string>();
  readonly #loads = new Map<string, number>();
  /** which kind of claim it is, as far as the scheduler has looked at it */
  readonly #groups = new Map<string, string>();
  /** of each kind: as #loads */
  readonly #groupLoads = new Map<string, Map<string, number>>();
  readonly #labels = new Map<string, readonly string[]>();
  readonly #byLabel = new Map<string, Set<string>>();

  /** A claim as it is; undefined: it is gone, or none of the scheduler's. */
  set(name: string, claim: Pick<IpClaim, 'labels' | 'node'> | undefined): void {
    this.hold(name, claim?.node);
    if (claim === undefined) this.#groups.delete(name);
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

  /** Who shall hold it, decided but perhaps not written yet; with the kind of claim that it is. */
  hold(name: string, node: string | undefined, group = this.#groups.get(name)): void {
    const before = this.#holders.get(name);
    if (before === node && group === this.#groups.get(name)) return;
    if (before !== undefined) this.#count(name, before, -1);
    if (group !== undefined) this.#groups.set(name, group);
    if (node === undefined) this.#holders.delete(name);
    else {
      this.#holders.set(name, node);
      this.#count(name, node, 1);
    }
  }

  #count(name: string, node: string, by: number): void {
    add(this.#loads, node, by);
    const group = this.#groups.get(name);
    if (group === undefined) return;
    const loads = this.#groupLoads.get(group) ?? new Map<string, number>();
    add(loads, node, by);
    if (loads.size === 0) this.#groupLoads.delete(group);
    else this.#groupLoads.set(group, loads);
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

  /** of one kind, those that the scheduler has looked at; without this claim's own weight */
  groupLoadBeside(name: string, group: string, node: string): number {
    const isOwn = this.#holders.get(name) === node && this.#groups.get(name) === group;
    return (this.#groupLoads.get(group)?.get(node) ?? 0) - (isOwn ? 1 : 0);
  }

  hasPart(node: string, name: string): boolean {
    return this.#byLabel.get(nodeLabel(node))?.has(name) === true;
  }

  claimsOf(node: string): Iterable<string> {
    return this.#byLabel.get(nodeLabel(node)) ?? [];
  }
}

function add(loads: Map<string, number>, node: string, by: number): void {
  const load = (loads.get(node) ?? 0) + by;
  if (load > 0) loads.set(node, load);
  else loads.delete(node);
}
