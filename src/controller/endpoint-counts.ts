/** How many usable endpoints each Service has, counted along with the changes of its slices. */

import type { EndpointSlice } from '../model/endpoint-slice.ts';

export class EndpointCounts {
  readonly #usable = new Map<string, number>();

  /** The Service that now has endpoints and had none, or the other way round. */
  change(now: EndpointSlice | undefined, before: EndpointSlice | undefined): readonly string[] {
    const from = before && serviceOf(before);
    const to = now && serviceOf(now);
    const turned: string[] = [];
    if (from !== undefined && from !== to) turned.push(...this.#add(from, -(before?.usable ?? 0)));
    if (to !== undefined) {
      const already = from === to ? (before?.usable ?? 0) : 0;
      turned.push(...this.#add(to, (now?.usable ?? 0) - already));
    }
    return turned;
  }

  of(service: string): number {
    return this.#usable.get(service) ?? 0;
  }

  #add(service: string, difference: number): readonly string[] {
    const before = this.of(service);
    const now = before + difference;
    if (now === 0) this.#usable.delete(service);
    else this.#usable.set(service, now);
    return before > 0 === now > 0 ? [] : [service];
  }
}

function serviceOf({ namespace, service }: EndpointSlice): string | undefined {
  return service === undefined ? undefined : `${namespace}/${service}`;
}
