/**
 * Which nodes can serve the exclusive claim of a Service with externalTrafficPolicy Local: those that have an endpoint of it. It only says
 * where to ask first: whether a node announces the claim is that node's own word (placement-refusals.ts). A slice may name whatever nodes it likes: only those that
 * are there count, and its names are read once, not at each look at a claim. No I/O.
 */

import type { EndpointSlice } from '../model/endpoint-slice.ts';
import { type IpClaim, localServices } from '../model/ip-claim.ts';
import { nodeKey } from '../model/node-key.ts';
import { serviceKey } from '../model/service.ts';

const NOBODY: ReadonlySet<string> = new Set();

export class PlacementEndpoints {
  /** by Service, then by slice */
  readonly #slices = new Map<string, Map<string, ArrayLike<number>>>();
  /** nodes that are there, by their keys */
  readonly #names = new Map<number, string>();
  /** of each Service that somebody has asked for: nodes that are there and that its slices name, until one of both changes */
  readonly #serving = new Map<string, ReadonlySet<string>>();
  /** claims by the Services behind them, those that are Local */
  readonly #claims = new Map<string, Set<string>>();
  readonly #services = new Map<string, readonly string[]>();

  clear(): void {
    this.#slices.clear();
    this.#names.clear();
    this.#serving.clear();
  }

  /** Claims that other nodes can serve now: its name may stand in slices for long before it comes, and after it has gone. */
  setNode(name: string, isThere: boolean): readonly string[] {
    const key = nodeKey(name);
    if (this.#names.has(key) === isThere) return [];
    if (isThere) this.#names.set(key, name);
    else this.#names.delete(key);
    this.#serving.clear();
    const claims = new Set<string>();
    for (const [service, names] of this.#claims) {
      if (this.#isNamed(service, key)) for (const claim of names) claims.add(claim);
    }
    return [...claims];
  }

  /** A claim as it is; undefined: it is gone. */
  set(name: string, claim: Pick<IpClaim, 'services'> | undefined): void {
    for (const service of this.#services.get(name) ?? []) {
      const claims = this.#claims.get(service);
      claims?.delete(name);
      if (claims?.size === 0) this.#claims.delete(service);
    }
    const services = claim === undefined ? [] : localServices(claim).map(serviceKey);
    if (services.length === 0) this.#services.delete(name);
    else this.#services.set(name, services);
    for (const service of services) {
      this.#claims.set(service, (this.#claims.get(service) ?? new Set()).add(name));
    }
  }

  /** Claims that other nodes can serve now. */
  change(now: EndpointSlice | undefined, before: EndpointSlice | undefined): readonly string[] {
    const was = before === undefined ? [] : this.#take(before, undefined);
    const is = now === undefined ? [] : this.#take(now, now.nodes ?? []);
    const isSame = now?.service === before?.service && isSameList(now?.nodes, before?.nodes);
    return isSame ? [] : [...new Set([...was, ...is])];
  }

  /**
   * Nodes that have an endpoint of each Local Service behind it, or, where none has, of one of them:
   * an agent announces an address for whichever of its Services is served there. undefined: none of
   * them is Local
   */
  nodesFor(claim: Pick<IpClaim, 'services'>): ReadonlySet<string> | undefined {
    const all = localServices(claim).map((service) => this.#of(serviceKey(service)));
    const [first, ...rest] = all;
    if (first === undefined || rest.length === 0) return first;
    const ofEach = [...first].filter((node) => rest.every((nodes) => nodes.has(node)));
    return new Set(ofEach.length > 0 ? ofEach : all.flatMap((nodes) => [...nodes]));
  }

  /** whom to go round, with those that cannot serve it as long as there is one that can */
  avoided(
    claim: Pick<IpClaim, 'services' | 'node'>,
    eligible: readonly string[],
    avoided: ReadonlySet<string>,
  ): ReadonlySet<string> {
    const { node: holder } = claim;
    // it stays where it is: nobody is looked for, and most looks are such ones
    const stays = holder !== undefined && !avoided.has(holder) && eligible.includes(holder);
    const able = stays ? undefined : this.nodesFor(claim);
    if (able === undefined) return avoided;
    if (!eligible.some((node) => able.has(node) && !avoided.has(node))) return avoided;
    // who has it stays until it says itself that it does not announce it
    const others = eligible.filter((node) => !able.has(node) && node !== holder);
    return new Set([...avoided, ...others]);
  }

  #of(service: string): ReadonlySet<string> {
    const known = this.#serving.get(service);
    if (known !== undefined) return known;
    const slices = this.#slices.get(service);
    if (slices === undefined) return NOBODY;
    const serving = new Set([...slices.values()].flatMap((keys) => this.#namesOf(keys)));
    this.#serving.set(service, serving);
    return serving;
  }

  #isNamed(service: string, key: number): boolean {
    for (const keys of this.#slices.get(service)?.values() ?? []) {
      if (isIn(keys, key)) return true;
    }
    return false;
  }

  #namesOf(keys: ArrayLike<number>): readonly string[] {
    const names: string[] = [];
    for (let at = 0; at < keys.length; at += 1) {
      const name = this.#names.get(keys[at] ?? 0);
      if (name !== undefined) names.push(name);
    }
    return names;
  }

  /** the claims of the Service whose slice it is */
  #take(
    { namespace, name, service }: EndpointSlice,
    nodes: ArrayLike<number> | undefined,
  ): Iterable<string> {
    if (service === undefined) return [];
    const key = `${namespace}/${service}`;
    const slices = this.#slices.get(key) ?? new Map<string, ArrayLike<number>>();
    if (nodes === undefined) slices.delete(name);
    else slices.set(name, nodes);
    if (slices.size === 0) this.#slices.delete(key);
    else this.#slices.set(key, slices);
    this.#serving.delete(key);
    return this.#claims.get(key) ?? [];
  }
}

/** Searched by halves: the keys of a slice are sorted. */
function isIn(keys: ArrayLike<number>, key: number): boolean {
  let from = 0;
  let to = keys.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((keys[middle] ?? 0) < key) from = middle + 1;
    else to = middle;
  }
  return keys[from] === key;
}

function isSameList(one: ArrayLike<number> = [], other: ArrayLike<number> = []): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at += 1) if (one[at] !== other[at]) return false;
  return true;
}
