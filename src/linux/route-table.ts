/**
 * Routes that `herald router --install` keeps in one table of the kernel, with one metric. Like addresses, ours carry a mark: the
 * route protocol is 72, 'H' (a number that neither the kernel nor a routing daemon uses; `ip route show proto 72` lists them), so
 * what a crash left is found and removed at the next start. A route that somebody else put at the same place (prefix and
 * metric) is neither replaced nor removed.
 */

import type { Address, Prefix } from 'bgp-ts';
import type { Outcome } from './address-table.ts';

/** The mark in rtm_protocol. */
export const ROUTE_PROTOCOL = 72;

export interface KernelNextHop {
  /** absent: the destination is on the interface's own link */
  readonly gateway?: Address;
  /** needed for a link-local gateway */
  readonly interface?: string;
}

export interface KernelRoute {
  readonly prefix: Prefix;
  /** several: the kernel chooses by flow; none: unreachable */
  readonly nextHops: readonly KernelNextHop[];
}

export interface RouteTable {
  /** Ours, as they are now. Throws a NetlinkError where the kernel cannot be asked. */
  list(): readonly KernelRoute[];
  /**
   * Makes this the route to its prefix, whatever of ours was there before; packets always find the one or the other. All next hops
   * must be reachable, or the old route stays. Always `changed`: the kernel does not compare.
   */
  replace(route: KernelRoute): Outcome;
  /** Where there is none of ours it is done already. */
  remove(prefix: Prefix): Outcome;
  /** Removes all of ours, as at the start and the end; if some fail, the first of them is the outcome. */
  clear(): Outcome;
  close(): void;
}
