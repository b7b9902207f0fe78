/**
 * Gate 6, `not-draining`: a person drains the claim or the node, the agent stops, or the Node says what the pool drains on. Pure. It is
 * `draining` for the pool's wait, then `closed`.
 */

import { formatAddress } from 'bgp-ts';
import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import type { Gate } from './gate.ts';
import type { Drain, View } from './view.ts';

export interface TimedGate {
  readonly gate: Gate;
  /** when it changes by time alone */
  readonly wakeAtMs?: number;
}

/** what the exclude label is called in a pool's `drain.on` */
export const EXCLUDE_TRIGGER = 'exclude-label';

const NOT_DRAINING: TimedGate = {
  gate: { name: 'not-draining', state: 'open', sentence: 'nobody drains it' },
};

export function drainGate(
  claim: Sourced<IpClaim>,
  pool: IpPool | undefined,
  view: View,
): TimedGate {
  const { nodeDrain, stopDrain, claimDrains, cluster } = view;
  const isQuiet = nodeDrain === undefined && stopDrain === undefined && claimDrains.size === 0;
  if (isQuiet && (cluster?.drains.size ?? 0) === 0) return NOT_DRAINING;
  const { name, address } = claim.object;
  const own = claimDrains.get(name);
  // what has left already must not come back for the wait of another drain: the one that ends first counts
  const drains = [nodeDrain, own, stopOf(stopDrain, pool), ...clusterDrains(claim, pool, view)];
  const [first] = drains
    .filter((drain) => drain !== undefined)
    .toSorted((x, y) => endOf(x, pool) - endOf(y, pool));
  if (first === undefined) return NOT_DRAINING;
  const timed = drained('not-draining', endOf(first, pool), view.nowMs, first.reason);
  if (first === own) return withRemedy(timed, `herald undrain ${formatAddress(address)}`);
  return first === nodeDrain ? withRemedy(timed, 'herald undrain') : timed;
}

/**
 * What the Node says counts where the pool names it. The exclude label stands on every control-plane node of many clusters: it is about
 * Services, never about what a person claimed by hand.
 */
function clusterDrains(
  { object, source }: Sourced<IpClaim>,
  pool: IpPool | undefined,
  { cluster }: View,
): readonly Drain[] {
  if (cluster === undefined || pool === undefined) return [];
  const isExcludable = source === 'api' && object.services.length > 0 && !pool.ignoreExcludeLabel;
  return pool.drain.on.flatMap((trigger) => {
    if (trigger === EXCLUDE_TRIGGER && !isExcludable) return [];
    return cluster.drains.get(trigger) ?? [];
  });
}

function withRemedy({ gate, ...rest }: TimedGate, remedy: string): TimedGate {
  return { ...rest, gate: { ...gate, remedy } };
}

/** A pool that does not drain on a stop leaves with it. */
function stopOf(drain: Drain | undefined, pool: IpPool | undefined): Drain | undefined {
  if (drain === undefined || pool === undefined || pool.drain.on.includes('stop')) return drain;
  return { ...drain, waitMs: 0 };
}

function endOf(drain: Drain, pool: IpPool | undefined): number {
  return drain.sinceMs + drainWaitMs(pool, drain.waitMs);
}

export function drainWaitMs(pool: IpPool | undefined, wanted: number | undefined): number {
  return wanted ?? (pool?.drain.waitSeconds ?? 0) * 1000;
}

export function drained(
  name: Gate['name'],
  endMs: number,
  nowMs: number,
  reason: string,
): TimedGate {
  if (nowMs >= endMs) return { gate: { name, state: 'closed', sentence: reason } };
  const sentence = `${reason}; announced with GRACEFUL_SHUTDOWN until the wait is over`;
  return { gate: { name, state: 'draining', sentence }, wakeAtMs: endMs };
}
