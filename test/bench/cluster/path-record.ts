/** What was seen of many addresses while they moved: at samples of a table, and by every UPDATE that a router has read. Pure. */

import type { RouteChange } from '../../cluster/support/receiving-router.ts';
import { p50 } from './report.ts';

export interface Look {
  readonly atMs: number;
  readonly absent: readonly string[];
  readonly equal: readonly string[];
}

export interface Told {
  /** addresses that at some moment had no path */
  readonly absent: number;
  /** those that at some moment had two of the same preference */
  readonly equal: number;
  /** how long an address had no path */
  readonly longestMs: number;
}

export interface Sampled {
  readonly absent: number;
  readonly equal: number;
  /** the most at one sample */
  readonly absentAtOnce: number;
  /** from the first sample to the first one after which none was without a path */
  readonly backMs: number;
  readonly looks: number;
  /** between two samples */
  readonly lookMs: { readonly p50: number; readonly most: number };
}

export type Drained = Sampled & { readonly tookMs: number; readonly told: Told };

export function drainedOf(looks: readonly Look[]): Sampled {
  const gaps = looks.slice(1).map(({ atMs }, index) => atMs - (looks[index]?.atMs ?? atMs));
  const lastAbsent = looks.findLastIndex(({ absent }) => absent.length > 0);
  const back = looks[Math.min(lastAbsent + 1, looks.length - 1)];
  return {
    absent: new Set(looks.flatMap(({ absent }) => absent)).size,
    equal: new Set(looks.flatMap(({ equal }) => equal)).size,
    absentAtOnce: Math.max(0, ...looks.map(({ absent }) => absent.length)),
    backMs: lastAbsent < 0 ? 0 : (back?.atMs ?? 0) - (looks[0]?.atMs ?? 0),
    looks: looks.length,
    lookMs: { p50: gaps.length === 0 ? 0 : p50(gaps), most: Math.max(0, ...gaps) },
  };
}

/** Plays the changes over the paths that stood before them. */
export function absences(
  before: readonly RouteChange[],
  changes: readonly RouteChange[],
  endMs: number,
): Told {
  const paths = new Map<string, Map<string, RouteChange>>();
  const absent = new Map<string, { sinceMs: number; longestMs: number }>();
  const equal = new Set<string>();
  for (const change of before) pathsOf(paths, change.prefix).set(change.peer, change);
  for (const change of changes) {
    const { prefix, peer, atMs } = change;
    const own = pathsOf(paths, prefix);
    if (own.size === 0) lapse(absent, prefix, atMs);
    if (change.kind === 'announced') own.set(peer, change);
    else own.delete(peer);
    if (new Set([...own.values()].map(rank)).size < own.size) equal.add(prefix);
    if (own.size === 0) absent.set(prefix, { longestMs: 0, ...absent.get(prefix), sinceMs: atMs });
  }
  for (const [prefix, own] of paths) if (own.size === 0) lapse(absent, prefix, endMs);
  const longestMs = Math.max(0, ...[...absent.values()].map((each) => each.longestMs));
  return { absent: absent.size, equal: equal.size, longestMs };
}

function lapse(
  absent: Map<string, { sinceMs: number; longestMs: number }>,
  prefix: string,
  atMs: number,
): void {
  const found = absent.get(prefix);
  if (found !== undefined) found.longestMs = Math.max(found.longestMs, atMs - found.sinceMs);
}

function pathsOf(
  paths: Map<string, Map<string, RouteChange>>,
  prefix: string,
): Map<string, RouteChange> {
  const found = paths.get(prefix) ?? new Map<string, RouteChange>();
  paths.set(prefix, found);
  return found;
}

/** what a router compares by */
function rank({ attributes }: RouteChange): string {
  const { localPref = 100, asPath = [], med = 0 } = attributes ?? {};
  return `${localPref} ${asPath.length} ${med}`;
}
