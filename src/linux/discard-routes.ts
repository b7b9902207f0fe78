/**
 * Unreachable routes for aggregates: a packet to an address inside one that nobody has gets "unreachable" from this machine, where the default route would send it back
 * to the router that it came from, and so on until its TTL is over. Ours carry a mark (`ip route show proto 73`), so what a crash left is found again.
 *
 * None is added where it would equal or hide a route that somebody else put there: a prefix on a link, a static route, another daemon's. The default route is what it
 * is there to hide. More specific routes are not touched by it: the longest prefix wins.
 */

import {
  FAMILIES,
  formatPrefix,
  type Prefix,
  type PrefixKey,
  prefixContains,
  prefixKey,
} from 'bgp-ts';
import type { Outcome } from './address-table.ts';
import { refusedBy } from './refusal.ts';
import { RtnetlinkRouteTable } from './rtnetlink-route-table.ts';

/** The mark in rtm_protocol; that of `herald router` is 72. */
export const DISCARD_PROTOCOL = 73;

const MAIN_TABLE = 254;
/** reading more would hold up the whole process */
const MOST_ROUTES = 20_000;
const KERNEL_PROTOCOL = 2;

export interface DiscardRoutes {
  /** Ours, as they are now. Throws a NetlinkError where the kernel cannot be asked. */
  list(): ReadonlyMap<PrefixKey, Prefix>;
  /** Why each of these must not be there; absent where nothing speaks against it. Throws as `list`. */
  objections(prefixes: readonly Prefix[]): ReadonlyMap<PrefixKey, string>;
  add(prefix: Prefix): Outcome;
  /** Where there is none of ours it is done already. */
  remove(prefix: Prefix): Outcome;
  close(): void;
}

export class RtnetlinkDiscardRoutes implements DiscardRoutes {
  readonly #table = new RtnetlinkRouteTable({ table: MAIN_TABLE, protocol: DISCARD_PROTOCOL });
  readonly #keeper: () => string | undefined;

  /** `keeper`: why another process of this machine keeps what carries our marks; undefined: we do */
  constructor(keeper: () => string | undefined) {
    this.#keeper = keeper;
  }

  list(): ReadonlyMap<PrefixKey, Prefix> {
    const present = this.#table.list().map(({ prefix }) => [prefixKey(prefix), prefix] as const);
    if (present.length === 0 || this.#keeper() === undefined) return new Map(present);
    return new Map();
  }

  objections(prefixes: readonly Prefix[]): ReadonlyMap<PrefixKey, string> {
    const found = new Map<PrefixKey, string>();
    for (const family of FAMILIES) {
      const own = prefixes.filter((prefix) => prefix.family === family);
      if (own.length === 0) continue;
      const foreign = this.#table.foreign(family, MOST_ROUTES);
      for (const prefix of own) {
        const sentence = objection(prefix, foreign);
        if (sentence !== undefined) found.set(prefixKey(prefix), sentence);
      }
    }
    return found;
  }

  add(prefix: Prefix): Outcome {
    const keeper = this.#keeper();
    if (keeper === undefined) return this.#table.replace({ prefix, nextHops: [] });
    return { kind: 'not-permitted', sentence: `no discard route is added: ${keeper}` };
  }

  remove(prefix: Prefix): Outcome {
    if (this.#keeper() !== undefined) return { kind: 'done', changed: false };
    try {
      return this.#table.remove(prefix);
    } catch (error) {
      return refusedBy(error, { doing: 'cannot remove a discard route', family: prefix.family });
    }
  }

  close(): void {
    this.#table.close();
  }
}

interface ForeignRoute {
  readonly prefix: Prefix;
  readonly protocol: number;
}

function objection(
  prefix: Prefix,
  foreign: readonly ForeignRoute[] | undefined,
): string | undefined {
  const what = `an unreachable route for ${formatPrefix(prefix)}`;
  if (foreign === undefined) {
    return `this machine has more than ${MOST_ROUTES} routes, and nobody knows which of them ${what} would hide`;
  }
  const hidden = foreign.find(
    (each) => each.prefix.length > 0 && prefixContains(each.prefix, prefix),
  );
  if (hidden === undefined) return undefined;
  const verb = hidden.prefix.length === prefix.length ? 'take the place of' : 'hide';
  const whose = hidden.protocol === KERNEL_PROTOCOL ? 'a network on a link' : 'a route';
  return `${what} would ${verb} ${formatPrefix(hidden.prefix)}, ${whose} of this machine that Herald did not add`;
}
