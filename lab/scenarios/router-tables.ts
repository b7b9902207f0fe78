/** What a router has for a prefix, in one shape for FRR and BIRD: from their own words. Pure. */

import { field, list, parsed } from './router-words.ts';

export interface RouterPath {
  readonly nextHop: string;
  readonly asPath: readonly number[];
}

export interface RouterTable {
  readonly prefix: string;
  /** paths that are used: those of equal cost, no others */
  readonly paths: readonly RouterPath[];
}

/** `show bgp ipv4 unicast PREFIX json` of FRR; a prefix that it does not have is an empty object */
export function fromFrr(prefix: string, text: string): RouterTable {
  const told = parsed(text);
  const paths = list(told, 'paths')
    .filter((path) => field(path, 'multipath') === true || isBest(path))
    .map((path) => ({
      nextHop: String(field(list(path, 'nexthops')[0], 'ip') ?? ''),
      asPath: numbers(field(field(path, 'aspath'), 'string')),
    }));
  return { prefix, paths: sorted(paths) };
}

function isBest(path: unknown): boolean {
  return field(field(path, 'bestpath'), 'overall') === true;
}

/**
 * `show route for PREFIX all` of BIRD: with `merge paths` one route with several `via`. The AS path stands once, in the attributes of the best one.
 */
export function fromBird(prefix: string, text: string): RouterTable {
  const lines = text.split('\n');
  const asPath = numbers(/BGP\.as_path: ([0-9 ]+)/.exec(text)?.[1]);
  const hops = lines.flatMap((line) => /^\s+via (\S+) on /.exec(line)?.[1] ?? []);
  return { prefix, paths: sorted([...new Set(hops)].map((nextHop) => ({ nextHop, asPath }))) };
}

function sorted(paths: readonly RouterPath[]): RouterPath[] {
  return paths.toSorted((a, b) => (a.nextHop < b.nextHop ? -1 : 1));
}

function numbers(text: unknown): number[] {
  if (typeof text !== 'string') return [];
  return text
    .split(' ')
    .filter((word) => word !== '')
    .map(Number);
}
