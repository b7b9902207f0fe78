/**
 * The gates of one claim that do not depend on the peer (DESIGN: 1 joined, 2 assigned, 3 healthy, 4 bound, 5 the pool's half of
 * allowed, 6 not draining). Pure. A gate that a person closed drains: it is `draining` for the pool's wait, then `closed`.
 */

import { addressKey, formatAddress } from 'bgp-ts';
import type { CheckTarget } from '../model/check-spec.ts';
import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { DEFAULT_PLACEMENT, type IpPool, type Placement } from '../model/ip-pool.ts';
import { selects } from '../model/labels.ts';
import { poolHolds } from '../model/pool-addresses.ts';
import type { Gate } from './gate.ts';
import type { Departure, Drain, Finding, View } from './view.ts';

/** A claim, the pool that holds it, and whether a person has taken it away. */
export interface ClaimSubject {
  readonly claim: Sourced<IpClaim>;
  readonly pool: IpPool | undefined;
  readonly placement: Placement;
  readonly departure?: Departure;
}

export interface ClaimGates {
  readonly joined: Gate;
  readonly assigned: Gate;
  readonly healthy: Gate;
  readonly bound: Gate;
  readonly pooled: Gate;
  readonly notDraining: Gate;
  /** when one of them changes by time alone */
  readonly wakeAtMs?: number;
}

const ANYCAST: Gate = {
  name: 'assigned',
  state: 'open',
  sentence: 'every node announces it (anycast)',
};
const PLACED_HERE: Gate = {
  name: 'assigned',
  state: 'open',
  sentence: 'placed on this node (exclusive)',
};
const NOTHING_TO_BIND: Gate = {
  name: 'bound',
  state: 'open',
  sentence: 'it asks for no interface',
};
const NO_CHECKS: Gate = { name: 'healthy', state: 'open', sentence: 'it has no checks' };
const NOT_DRAINING: Gate = { name: 'not-draining', state: 'open', sentence: 'nobody drains it' };

export function subjectOf(
  claim: Sourced<IpClaim>,
  pools: readonly IpPool[],
  departure?: Departure,
): ClaimSubject {
  const told = departure?.claim ?? claim;
  const pool = departure?.pool ?? findPool(told.object, pools);
  const ofPool = pool?.placement ?? DEFAULT_PLACEMENT;
  const { placement: own } = told.object;
  const placement = own === undefined ? ofPool : { ...ofPool, ...own };
  if (departure === undefined) return { claim: told, pool, placement };
  return { claim: told, pool, placement, departure };
}

function findPool(claim: IpClaim, pools: readonly IpPool[]): IpPool | undefined {
  return pools.find(
    (pool) =>
      (claim.pool === undefined || claim.pool === pool.name) && poolHolds(pool, claim.address),
  );
}

/** `joined` is the node's gate, the same for every claim */
export function claimGates(subject: ClaimSubject, view: View, joined: Gate): ClaimGates {
  const assigned = assignedGate(subject, view);
  const notDraining = drainGate(subject, view);
  const wakeAtMs = earlier(assigned.wakeAtMs, notDraining.wakeAtMs);
  return {
    joined,
    assigned: assigned.gate,
    healthy: healthyGate(subject.claim.object, view),
    bound: boundGate(subject.claim.object, view),
    pooled: pooledGate(subject, view),
    notDraining: notDraining.gate,
    ...(wakeAtMs === undefined ? {} : { wakeAtMs }),
  };
}

export function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

export function joinedGate({ joined }: View): Gate {
  return finding('joined', joined);
}

interface TimedGate {
  readonly gate: Gate;
  readonly wakeAtMs?: number;
}

function assignedGate({ claim, pool, placement, departure }: ClaimSubject, view: View): TimedGate {
  if (departure !== undefined) {
    const wait = drainWaitMs(pool, undefined);
    return drained('assigned', departure.sinceMs + wait, view.nowMs, departure.reason);
  }
  const { stale } = view;
  if (stale !== undefined && view.nowMs >= stale.untilMs) {
    return closed('assigned', `${stale.sentence}; that is too long ago`, 'bring its source back');
  }
  const gate = placedGate(claim.object, placement, view);
  return { gate, ...(stale === undefined ? {} : { wakeAtMs: stale.untilMs }) };
}

function placedGate(claim: IpClaim, placement: Placement, { node }: View): Gate {
  if (claim.withdrawn !== undefined) {
    const remedy = 'remove spec.withdrawn from the claim';
    return {
      name: 'assigned',
      state: 'closed',
      sentence: `withdrawn: ${claim.withdrawn.reason}`,
      remedy,
    };
  }
  if (!selects(placement.nodeSelector, node.labels)) {
    const remedy = "change the placement's nodeSelector, or the node's labels (--node-labels)";
    const sentence = `the placement's nodeSelector does not select node ${node.name}`;
    return { name: 'assigned', state: 'closed', sentence, remedy };
  }
  if (placement.mode === 'anycast') return ANYCAST;
  if (claim.node === node.name) {
    return PLACED_HERE;
  }
  const sentence =
    claim.node === undefined
      ? 'exclusive, and placed on no node yet'
      : `exclusive, and placed on node ${claim.node}`;
  const remedy = `to move it here, set spec.node to ${node.name}`;
  return { name: 'assigned', state: 'closed', sentence, remedy };
}

export function healthyGate(claim: IpClaim, view: View): Gate {
  if (claim.checks.length === 0) return NO_CHECKS;
  const found = view.health.get(claim.name);
  return found === undefined
    ? { name: 'healthy', state: 'closed', sentence: 'its checks have not been asked yet' }
    : finding('healthy', found);
}

function boundGate(claim: IpClaim, view: View): Gate {
  if (claim.bind === undefined) return NOTHING_TO_BIND;
  const fact = view.bindings.get(claim.name);
  if (fact?.kind === 'present') return { name: 'bound', state: 'open', sentence: fact.sentence };
  const waiting = `it goes on ${claim.bind.interface} when the other gates are open`;
  return finding('bound', { isOpen: false, ...(fact ?? { sentence: waiting }) });
}

function pooledGate({ claim, pool }: ClaimSubject, view: View): Gate {
  const { address, name, pool: wanted } = claim.object;
  if (pool === undefined) {
    const sentence =
      wanted === undefined
        ? `${formatAddress(address)} is in no pool`
        : `${formatAddress(address)} is not in pool ${wanted}`;
    const remedy = 'add it to the addresses of an IPPool, or claim another address';
    return { name: 'allowed', state: 'closed', sentence, remedy };
  }
  const own = view.ownAddresses.get(addressKey(address));
  if (own !== undefined) {
    const sentence = `${formatAddress(address)} is this machine's own address (${own})`;
    const remedy = `claim an address that no machine has; ${name} would take this machine off the network`;
    return { name: 'allowed', state: 'closed', sentence, remedy };
  }
  return heldBy(pool);
}

/** one object per pool: gates that are the same objects as before are known not to have changed */
const held = new WeakMap<IpPool, Gate>();

function heldBy(pool: IpPool): Gate {
  const known = held.get(pool);
  if (known !== undefined) return known;
  const gate: Gate = { name: 'allowed', state: 'open', sentence: `pool ${pool.name} holds it` };
  held.set(pool, gate);
  return gate;
}

const NOT_DRAINING_EVER: TimedGate = { gate: NOT_DRAINING };

function drainGate({ claim, pool }: ClaimSubject, view: View): TimedGate {
  const { nodeDrain, stopDrain, claimDrains } = view;
  if (nodeDrain === undefined && stopDrain === undefined && claimDrains.size === 0) {
    return NOT_DRAINING_EVER;
  }
  const { name, address } = claim.object;
  const own = claimDrains.get(name);
  // what has left already must not come back for the wait of another drain: the one that ends first counts
  const drains = [nodeDrain, own, stopOf(stopDrain, pool)].filter((drain) => drain !== undefined);
  const [first] = drains.toSorted((x, y) => endOf(x, pool) - endOf(y, pool));
  if (first === undefined) return NOT_DRAINING_EVER;
  const timed = drained('not-draining', endOf(first, pool), view.nowMs, first.reason);
  if (first === own) return withRemedy(timed, `herald undrain ${formatAddress(address)}`);
  return first === nodeDrain ? withRemedy(timed, 'herald undrain') : timed;
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

function drained(name: Gate['name'], endMs: number, nowMs: number, reason: string): TimedGate {
  if (nowMs >= endMs) return { gate: { name, state: 'closed', sentence: reason } };
  const sentence = `${reason}; announced with GRACEFUL_SHUTDOWN until the wait is over`;
  return { gate: { name, state: 'draining', sentence }, wakeAtMs: endMs };
}

function closed(name: Gate['name'], sentence: string, remedy: string): TimedGate {
  return { gate: { name, state: 'closed', sentence, remedy } };
}

function finding(name: Gate['name'], { isOpen, sentence, remedy }: Finding): Gate {
  if (isOpen) return { name, state: 'open', sentence };
  return { name, state: 'closed', sentence, ...(remedy === undefined ? {} : { remedy }) };
}

/** A check of the claim's own address can only pass while the address is there: such a claim keeps it while it is unhealthy. */
export function asksItself(claim: IpClaim): boolean {
  const own = formatAddress(claim.address);
  return claim.checks.some(({ target }) => hostOf(target) === own);
}

function hostOf(target: CheckTarget): string | undefined {
  if (target.kind === 'tcp') return target.host;
  if (target.kind !== 'http') return undefined;
  return URL.parse(target.url)?.hostname.replace(/^\[|\]$/g, '');
}
