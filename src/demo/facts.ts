/**
 * What the story is judged by: the router's own table and its sessions, and what became of the requests that were sent by that table.
 * Nothing in it comes from an agent. Immutable; members are named by their ids, in order.
 */

export interface Facts {
  /** whose session the router calls established */
  readonly sessions: readonly number[];
  /** next hops of the address that the router uses, ECMP over all of them */
  readonly used: readonly number[];
  /** next hops that it knows, used or not: a draining one is known and not used */
  readonly known: readonly number[];
  readonly requests: RequestCounts;
  /** something that the demo itself could not do */
  readonly trouble?: string;
}

export interface RequestCounts {
  readonly sent: number;
  /** how many each member has answered, by id - 1 */
  readonly answered: readonly number[];
  readonly lost: number;
  /** the router had no next hop, so nothing was sent */
  readonly unroutable: number;
}

export const NO_FACTS: Facts = {
  sessions: [],
  used: [],
  known: [],
  requests: { sent: 0, answered: [0, 0, 0], lost: 0, unroutable: 0 },
};

export function isSameSet(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id));
}
