/**
 * What no session could be made of, found before anything is touched: a number that OPEN has no room for, or that its RFC forbids
 * us to send, would otherwise show only when the neighbour answers, and there as an exception in a callback. What the kernel
 * has to say about addresses, keys and interfaces is an event of the dial, not of this.
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

/** Throws a RangeError with one sentence if these neighbours cannot be had as they are. */
export function checkSettings(
  peers: readonly { readonly settings: PeerSettings }[],
  ranges: readonly DesiredRange[] = [],
): void {
  const names = new Set<string>();
  for (const { settings } of [...peers, ...ranges]) {
    const { name } = settings;
    const problem = names.has(name) ? 'there are two of this name' : problemOf(settings);
    if (problem !== undefined) throw new RangeError(`neighbour ${name}: ${problem}`);
    names.add(name);
  }
  checkRanges(ranges, [...names]);
}

function checkRanges(ranges: readonly DesiredRange[], names: readonly string[]): void {
  const known = new Set<string>();
  for (const { range, limit, settings } of ranges) {
    const problem = rangeProblem({ range, limit }, known.has(prefixKey(range)));
    if (problem !== undefined) throw new RangeError(`range ${settings.name}: ${problem}`);
    const clash = names.find((name) => name.startsWith(`${settings.name}/`));
    if (clash !== undefined) {
      const why = `the neighbour ${clash} is called like one of its own`;
      throw new RangeError(`range ${settings.name}: ${why}`);
    }
    known.add(prefixKey(range));
  }
}

function rangeProblem(
  { range, limit }: Pick<DesiredRange, 'range'> & { readonly limit: number | undefined },
  isKnown: boolean,
): string | undefined {
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
