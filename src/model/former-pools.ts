/**
 * Pools that are gone while Services still have addresses of them. An address in use outlives its pool: it is kept, flagged, and announced as
 * the pool's last form says, until its claim is released (decision 0020). Pure.
 */

import type { Documents, Sourced } from './documents.ts';
import type { IpClaim } from './ip-claim.ts';
import { DEFAULT_PLACEMENT, type IpPool } from './ip-pool.ts';
import { ANYCAST_LABEL, isNodeLabel } from './names.ts';

/** as many forms are remembered as no cluster deletes while it uses them */
const MOST_FORMER = 100;

/** It was given to a Service out of the pool that it names; what a person claimed by hand stands by the pools as they are. */
export function outlivesPool({ pool, services }: IpClaim): boolean {
  return pool !== undefined && services.length > 0;
}

/**
 * `now` with the last forms of pools that `before` had and `now` has not. The list is the same one where nothing has changed: what was
 * decided by it counts on. All are kept, not only those that a claim here names: an exclusive claim may come to this node later.
 */
export function withFormerPools(now: Documents, before: Documents | undefined): Documents {
  const known = before?.formerPools ?? [];
  const names = new Set(now.pools.map(({ object }) => object.name));
  const isGone = ({ object }: Sourced<IpPool>) => !names.has(object.name);
  const gone = (before?.pools ?? []).filter(isGone);
  const kept = known.filter(isGone);
  if (gone.length === 0 && kept.length === known.length) {
    return known.length === 0 ? now : { ...now, formerPools: known };
  }
  const former = bounded([...gone, ...kept], now);
  return former.length === 0 ? now : { ...now, formerPools: former };
}

/** the youngest, and those that a claim names before all others */
function bounded(
  former: readonly Sourced<IpPool>[],
  { claims }: Documents,
): readonly Sourced<IpPool>[] {
  if (former.length <= MOST_FORMER) return former;
  const named = new Set(claims.map(({ object }) => object.pool));
  const isNamed = ({ object }: Sourced<IpPool>) => named.has(object.name);
  const others = former.filter((pool) => !isNamed(pool));
  return [...former.filter(isNamed), ...others].slice(0, MOST_FORMER);
}

/**
 * What can be said of a pool that nobody here has known: the claim's own labels say how it is placed. Undefined: it never was, and waits
 * for its pool.
 */
export function unknownPool({ pool, labels }: IpClaim): IpPool | undefined {
  const isExclusive = Object.keys(labels).some(isNodeLabel);
  if (pool === undefined || !(isExclusive || ANYCAST_LABEL in labels)) return undefined;
  const mode = isExclusive ? 'exclusive' : 'anycast';
  return {
    name: pool,
    labels: {},
    ranges: [],
    avoidFirstLast: false,
    autoAssign: false,
    priority: 0,
    shareAcross: [],
    allowExternalIps: false,
    ignoreExcludeLabel: false,
    placement: { ...DEFAULT_PLACEMENT, mode },
    advertisements: [],
    drain: { on: ['stop', 'exclude-label'], waitSeconds: 10 },
    notReady: 'keep',
  };
}
