/**
 * Gate 6, `not-draining`: a person drains the claim or the node, the agent stops, or the Node says what the pool drains on. Pure. It is
 * `draining` for the pool's wait, then `closed`.
 *
 * An exclusive claim that the controller placed here is different: its route is the only one. It stays `draining`, announced and
 * de-preferred, until the controller has moved it and taken this node's label away, however long that takes and whether or not there
 * is a controller. Only a stop has an end of its own, since the process is killed then (docs/decisions/0036).
 */

import { formatAddress } from 'bgp-ts';
import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import type { EffectiveLevel } from '../model/names.ts';
import type { Gate } from './gate.ts';
import type { Drain, View } from './view.ts';

export interface TimedGate {
  readonly gate: Gate;
  /** when it changes by time alone */
  readonly wakeAtMs?: number;
}

/** what the exclude label is called in a pool's `drain.on` */
export const EXCLUDE_TRIGGER = 'exclude-label';

/** The claim that is asked about, and where it stands. */
export interface DrainSubject {
  readonly claim: Sourced<IpClaim>;
  readonly pool: IpPool | undefined;
  /** of an exclusive claim that is placed here */
  readonly level?: EffectiveLevel;
}

const NOT_DRAINING: TimedGate = {
  gate: { name: 'not-draining', state: 'open', sentence: 'nobody drains it' },
};

export function drainGate(subject: DrainSubject, view: View): TimedGate {
  const { nodeDrain, stopDrain, claimDrains, cluster } = view;
  const isQuiet = nodeDrain === undefined && stopDrain === undefined && claimDrains.size === 0;
  if (isQuiet && (cluster?.drains.size ?? 0) === 0) return NOT_DRAINING;
  const { claim, pool } = subject;
  const { name, address } = claim.object;
  const own = claimDrains.get(name);
  const isMoved = claim.source === 'api' && subject.level !== undefined;
  const ofNode = [nodeDrain, ...clusterDrains(claim, pool, view)];
  // what has left already must not come back for the wait of another drain: the one that ends first counts
  const [first] = [
    ...ofNode.map((drain) => timed(drain, isMoved ? Number.POSITIVE_INFINITY : endOf(drain, pool))),
    timed(own, endOf(own, pool)),
    timed(stopDrain, stopEnd(stopDrain, pool, isMoved)),
  ]
    .filter((each) => each !== undefined)
    .toSorted((x, y) => x.endMs - y.endMs);
  if (first === undefined) return NOT_DRAINING;
  const gate = drained('not-draining', first.endMs, view.nowMs, first.drain.reason);
  if (first.drain === own) return withRemedy(gate, `herald undrain ${formatAddress(address)}`);
  return first.drain === nodeDrain ? withRemedy(gate, 'herald undrain') : gate;
}

interface TimedDrain {
  readonly drain: Drain;
  readonly endMs: number;
}

function timed(drain: Drain | undefined, endMs: number): TimedDrain | undefined {
  return drain === undefined ? undefined : { drain, endMs };
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

/** A pool that does not drain on a stop leaves with it; what another node is to have stays as long as a stop may take. */
function stopEnd(drain: Drain | undefined, pool: IpPool | undefined, isMoved: boolean): number {
  if (drain === undefined) return Number.POSITIVE_INFINITY;
  if (pool !== undefined && !pool.drain.on.includes('stop')) return drain.sinceMs;
  const { sinceMs, waitMs, moveMs = 0, mostMs = Number.POSITIVE_INFINITY } = drain;
  const endMs = endOf(drain, pool);
  const movedMs = isMoved && waitMs === undefined ? sinceMs + moveMs : endMs;
  return Math.min(Math.max(endMs, movedMs), sinceMs + mostMs);
}

function endOf(drain: Drain | undefined, pool: IpPool | undefined): number {
  if (drain === undefined) return Number.POSITIVE_INFINITY;
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
  if (endMs === Number.POSITIVE_INFINITY) {
    const sentence = `${reason}; announced with GRACEFUL_SHUTDOWN until another node announces it`;
    return { gate: { name, state: 'draining', sentence } };
  }
  const sentence = `${reason}; announced with GRACEFUL_SHUTDOWN until the wait is over`;
  return { gate: { name, state: 'draining', sentence }, wakeAtMs: endMs };
}
