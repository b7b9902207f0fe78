/**
 * 100,000 IPv4 host routes that all change with every generation: the window of prefixes moves by 500, and every route gets
 * another MED. What a neighbour should hold in the end is the newest generation and nothing else.
 */

import type { Route, RouteAttributes } from '../../protocol/bgp/route.ts';
import { ipv4Address, maskPrefix } from '../../protocol/net/address.ts';

export const TABLE_SIZE = 100_000;
const MOVE = 500;
const GROUPS = 1000;
const BASE = 0x0a000000;

function firstOf(generation: number): number {
  return generation * MOVE;
}

export function medOf(generation: number, index: number): number {
  return generation * GROUPS + (index % GROUPS);
}

export function* churningRoutes(generation: number): Iterable<Route> {
  const groups: RouteAttributes[] = Array.from({ length: GROUPS }, (_, group) => ({
    med: medOf(generation, group),
  }));
  const first = firstOf(generation);
  for (let index = first; index < first + TABLE_SIZE; index += 1) {
    const attributes = groups[index % GROUPS];
    if (attributes === undefined) throw new Error('no group');
    yield { prefix: maskPrefix(ipv4Address(BASE + index), 32), attributes };
  }
}

/** what a neighbour must hold: the 32 bits of each prefix and its MED */
export function expectedTable(generation: number): Map<number, number> {
  const first = firstOf(generation);
  const table = new Map<number, number>();
  for (let index = first; index < first + TABLE_SIZE; index += 1) {
    table.set(BASE + index, medOf(generation, index));
  }
  return table;
}
