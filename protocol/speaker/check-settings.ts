/**
 * What no session could be made of, found before anything is touched: a number that OPEN has no room for, or that its RFC forbids
 * us to send, would otherwise show only when the neighbour answers, and there as an exception in a callback. Each is the trouble of one
 * neighbour, never of the others. What the kernel has to say about addresses, keys and interfaces is an event of the dial, not of this.
 */

import { Role } from '../bgp/codes.ts';
import { prefixKey } from '../net/address.ts';
import { formatPrefix } from '../net/address-text.ts';
import { isUsableAsn } from '../net/asn.ts';
import type { DesiredRange, RangeSettings } from './dynamic-peers.ts';
import type { PeerSettings, PeerTimers } from './settings.ts';

/** RFC 4724 §3: twelve bits */
const MAX_RESTART_SECONDS = 4095;
const ROLES: readonly number[] = Object.values(Role);

/** A neighbour, or a range of them, that cannot be had as it is. */
export interface RefusedSettings {
  /** its name in the settings; where two have one name, the second is refused */
  readonly name: string;
  /** names it again, and says why */
  readonly sentence: string;
}

export interface SortedSettings<P, R> {
  readonly peers: readonly P[];
  readonly ranges: readonly R[];
  readonly refused: readonly RefusedSettings[];
}

type RangeWish = Pick<DesiredRange, 'settings' | 'range' | 'limit'>;

/**
 * Those that can be had, and for each of the others one sentence. Of two that contradict each other the first is taken. Pure.
 *
 * @example
 * sortSettings([]) // { peers: [], ranges: [], refused: [] }
 */
export function sortSettings<P extends { readonly settings: PeerSettings }, R extends RangeWish>(
  peers: readonly P[],
  ranges: readonly R[] = [],
): SortedSettings<P, R> {
  const names = new Set<string>();
  const refused: RefusedSettings[] = [];
  const isRefused = (kind: string, name: string, problem: string | undefined): boolean => {
    if (problem === undefined) names.add(name);
    else refused.push({ name, sentence: `${kind} ${name}: ${problem}` });
    return problem !== undefined;
  };
  const own = (settings: RangeSettings) =>
    names.has(settings.name) ? 'there are two of this name' : problemOf(settings);
  const goodPeers = peers.filter(
    ({ settings }) => !isRefused('neighbour', settings.name, own(settings)),
  );
  const listed = [...names];
  const known = new Set<string>();
  const goodRanges = ranges.filter((wish) => {
    const { range, settings } = wish;
    const problem =
      own(settings) ?? rangeProblem(wish, known.has(prefixKey(range))) ?? clash(settings, listed);
    if (isRefused('range', settings.name, problem)) return false;
    known.add(prefixKey(range));
    return true;
  });
  return { peers: goodPeers, ranges: goodRanges, refused };
}

/** its neighbours are called `NAME/ADDRESS` */
function clash({ name }: RangeSettings, listed: readonly string[]): string | undefined {
  const other = listed.find((each) => each.startsWith(`${name}/`));
  return other && `the neighbour ${other} is called like one of its own`;
}

function rangeProblem({ range, limit }: RangeWish, isKnown: boolean): string | undefined {
  if (isKnown) return `there are two for ${formatPrefix(range)}`;
  if (limit === undefined || isWhole(limit, 1, 0xffff)) return undefined;
  return `a limit is 1 to 65535 neighbours, not ${limit}`;
}

function problemOf(settings: RangeSettings): string | undefined {
  return identityProblem(settings) ?? capabilityProblem(settings) ?? timerProblem(settings.timers);
}

function identityProblem({ localAsn, peerAsn, routerId, port }: RangeSettings): string | undefined {
  // RFC 7607 §2
  if (!isUsableAsn(localAsn)) return `${localAsn} is no AS number to have`;
  if (typeof peerAsn === 'number' && !isUsableAsn(peerAsn)) return `${peerAsn} is no AS number`;
  // RFC 6286 §2.1
  if (!isWhole(routerId, 1, 0xffffffff)) return `${routerId} is no BGP identifier`;
  if (port !== undefined && !isWhole(port, 1, 0xffff)) return `${port} is no port`;
  return undefined;
}

function capabilityProblem(settings: RangeSettings): string | undefined {
  const { families, gracefulRestart, role } = settings;
  if (families?.length === 0) return 'it has no address family';
  const restart = gracefulRestart?.restartSeconds;
  if (restart !== undefined && !isWhole(restart, 0, MAX_RESTART_SECONDS)) {
    return `a restart time is 0 to ${MAX_RESTART_SECONDS} whole seconds, not ${restart}`;
  }
  if (role !== undefined && !ROLES.includes(role)) return `there is no role ${role}`;
  return undefined;
}

function timerProblem(timers: PeerTimers = {}): string | undefined {
  const { holdSeconds, ...others } = timers;
  // RFC 4271 §4.2
  if (holdSeconds !== undefined && holdSeconds !== 0 && !isWhole(holdSeconds, 3, 0xffff)) {
    return `a hold time is 0 (none) or 3 to 65535 whole seconds, not ${holdSeconds}`;
  }
  // a pause of nothing is a flood of SYNs towards a neighbour that refuses them
  if (others.connectRetrySeconds === 0) return 'connectRetrySeconds is 0';
  for (const [timer, seconds] of Object.entries(others)) {
    if (!(seconds >= 0 && Number.isFinite(seconds))) return `${timer} is ${seconds}`;
  }
  return undefined;
}

function isWhole(value: number, low: number, high: number): boolean {
  return Number.isInteger(value) && value >= low && value <= high;
}
