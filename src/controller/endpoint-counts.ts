/**
 * How many usable endpoints each Service has of each family, counted along with the changes of its slices. What comes in by an IPv6 address
 * goes to IPv6 endpoints only.
 */

import { FAMILIES, type Family } from 'bgp-ts';
import type { EndpointSlice } from '../model/endpoint-slice.ts';

export class EndpointCounts {
  readonly #usable: Readonly<Record<Family, Map<string, number>>> = {
    ipv4: new Map(),
    ipv6: new Map(),
  };

  /** The Services that now have endpoints of a family and had none, or the other way round. */
  change(now: EndpointSlice | undefined, before: EndpointSlice | undefined): readonly string[] {
    const from = before && serviceOf(before);
    const to = now && serviceOf(now);
    const turned = FAMILIES.flatMap((family) => {
      const had = usableIn(before, family);
      const has = usableIn(now, family);
      if (from === to) return this.#add(to, family, has - had);
      return [...this.#add(from, family, -had), ...this.#add(to, family, has)];
    });
    return [...new Set(turned)];
  }

  of(service: string, family: Family): number {
    return this.#usable[family].get(service) ?? 0;
  }

  #add(service: string | undefined, family: Family, difference: number): readonly string[] {
    if (service === undefined) return [];
    const before = this.of(service, family);
    const now = before + difference;
    if (now === 0) this.#usable[family].delete(service);
    else this.#usable[family].set(service, now);
    return before > 0 === now > 0 ? [] : [service];
  }
}

/** a slice of which nobody knows the family counts for both: not to know withdraws nothing */
function usableIn(slice: EndpointSlice | undefined, family: Family): number {
  if (slice === undefined) return 0;
  return slice.family === undefined || slice.family === family ? slice.usable : 0;
}

function serviceOf({ namespace, service }: EndpointSlice): string | undefined {
  return service === undefined ? undefined : `${namespace}/${service}`;
}
