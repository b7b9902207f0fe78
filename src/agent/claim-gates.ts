/**
 * The gates of one claim that do not depend on the peer (DESIGN: 1 joined, 2 assigned, 3 healthy, 4 bound, 5 the pool's half of
 * allowed, 6 not draining). Pure. A gate that a person closed drains: it is `draining` for the pool's wait, then `closed`.
 */

import { formatAddress } from 'bgp-ts';
import type { Sourced } from '../model/documents.ts';
import { outlivesPool } from '../model/former-pools.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { optional } from '../model/optional.ts';
import { poolHolds } from '../model/pool-addresses.ts';
import { checkHost, forbiddenCheck } from './check-targets.ts';
import { drained, drainGate, drainWaitMs, type TimedGate } from './drain-gate.ts';
import type { Gate } from './gate.ts';
import { type JoinedGates, joinedGateOf } from './joined-gate.ts';
import { type PlacementView, placedGate, type Standing, standingOf } from './placement.ts';
import { ownPlace } from './service-address.ts';
import { serviceGate } from './service-gate.ts';
import type { Departure, Finding, View } from './view.ts';

/** A claim, the pool that holds it, where it stands, and whether a person has taken it away. */
export interface ClaimSubject extends Standing {
  readonly claim: Sourced<IpClaim>;
  readonly pool: IpPool | undefined;
  /** its pool does not hold it any more, or is gone: it goes on as that pool says until its Services have left it */
  readonly outlives?: 'shrunk' | 'gone';
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

const NOTHING_TO_BIND: Gate = {
  name: 'bound',
  state: 'open',
  sentence: 'it asks for no interface',
};
const NO_CHECKS: Gate = { name: 'healthy', state: 'open', sentence: 'it has no checks' };
export interface SubjectView extends PlacementView {
  readonly pools: readonly IpPool[];
  /** that are gone, in their last form */
  readonly formerPools: readonly IpPool[];
}

export function subjectOf(
  claim: Sourced<IpClaim>,
  view: SubjectView,
  departure?: Departure,
): ClaimSubject {
  const told = toldClaim(claim, departure);
  const isAsItWas = departure !== undefined && departure.held === undefined;
  const found = isAsItWas ? { pool: departure.pool } : findPool(told, view);
  const standing = standingOf(told, found.pool, view);
  if (departure === undefined) return { claim: told, ...found, ...standing };
  return { claim: told, ...found, ...standing, departure };
}

/** What is announced of it: a departure in its last form, but one that the controller is to move as the controller has it now. */
export function toldClaim(
  claim: Sourced<IpClaim>,
  departure: Departure | undefined,
): Sourced<IpClaim> {
  return departure === undefined || departure.held !== undefined ? claim : departure.claim;
}

type FoundPool = Pick<ClaimSubject, 'pool' | 'outlives'>;

/** What a person claims stands by the pools as they are; what a Service was given outlives its pool (decision 0020). */
function findPool(
  { object: claim, source }: Sourced<IpClaim>,
  { pools, formerPools }: SubjectView,
): FoundPool {
  const holding = pools.find(
    (pool) =>
      (claim.pool === undefined || claim.pool === pool.name) && poolHolds(pool, claim.address),
  );
  if (holding !== undefined) return { pool: holding };
  if (source !== 'api' || !outlivesPool(claim)) return { pool: undefined };
  const isNamed = ({ name }: IpPool) => name === claim.pool;
  const shrunk = pools.find(isNamed);
  if (shrunk !== undefined) return { pool: shrunk, outlives: 'shrunk' };
  const gone = formerPools.find(isNamed);
  return gone === undefined ? { pool: undefined } : { pool: gone, outlives: 'gone' };
}

export function claimGates(subject: ClaimSubject, view: View, joined: JoinedGates): ClaimGates {
  const assigned = assignedGate(subject, view);
  const notDraining = drainGate(subject, view);
  const healthy = healthyGate(subject.claim, view);
  const wakeAtMs = earlier(earlier(assigned.wakeAtMs, healthy.wakeAtMs), notDraining.wakeAtMs);
  return {
    joined: joinedGateOf(subject.claim, subject.pool, joined),
    assigned: assigned.gate,
    healthy: healthy.gate,
    bound: boundGate(subject.claim.object, view),
    pooled: pooledGate(subject, view),
    notDraining: notDraining.gate,
    ...(wakeAtMs === undefined ? {} : { wakeAtMs }),
  };
}

/** in the order in which people think of them */
export function claimGateList(gates: ClaimGates): readonly Gate[] {
  const { joined, assigned, healthy, bound, pooled, notDraining } = gates;
  return [joined, assigned, healthy, bound, pooled, notDraining];
}

/** It would be announced but for what nobody has said yet. */
export function isUndecided({ gates }: { readonly gates: ClaimGates }): boolean {
  const shut = claimGateList(gates).filter(({ state }) => state === 'closed');
  return shut.length > 0 && shut.every(({ isUnknown }) => isUnknown === true);
}

export function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

function assignedGate(subject: ClaimSubject, view: View): TimedGate {
  const { claim, pool, departure } = subject;
  if (departure !== undefined && departure.held === undefined) {
    const wait = drainWaitMs(pool, undefined);
    return drained('assigned', departure.sinceMs + wait, view.nowMs, departure.reason);
  }
  const stale = claim.source === 'api' ? view.staleApi : view.stale;
  if (stale !== undefined && view.nowMs >= stale.untilMs) {
    return closed('assigned', `${stale.sentence}; that is too long ago`, 'bring its source back');
  }
  const placed = placedGate(claim, subject, view);
  const isHeld = departure !== undefined && placed.state !== 'closed';
  const gate = isHeld
    ? drained('assigned', Number.POSITIVE_INFINITY, view.nowMs, departure.reason).gate
    : placed;
  return { gate, ...(stale === undefined ? {} : { wakeAtMs: stale.untilMs }) };
}

const WITHOUT_CHECKS: TimedGate = { gate: NO_CHECKS };

/** Its own checks first, then what kube-proxy says of the Services behind it. */
export function healthyGate(claim: Sourced<IpClaim>, view: View): TimedGate {
  const { object } = claim;
  const own = object.checks.length === 0 ? WITHOUT_CHECKS : { gate: checksGate(claim, view) };
  if (own.gate.state === 'closed') return own;
  return serviceGate(claim, view) ?? own;
}

function checksGate(claim: Sourced<IpClaim>, view: View): Gate {
  const forbidden = forbiddenCheck(claim, view);
  if (forbidden !== undefined) {
    const remedy = "change the claim's checks";
    return { name: 'healthy', state: 'closed', sentence: forbidden, remedy };
  }
  const found = view.health.get(claim.object.name);
  return found === undefined
    ? {
        name: 'healthy',
        state: 'closed',
        sentence: 'its checks have not been asked yet',
        isUnknown: true,
      }
    : finding('healthy', found);
}

function boundGate(claim: IpClaim, view: View): Gate {
  if (claim.bind === undefined) return NOTHING_TO_BIND;
  const fact = view.bindings.get(claim.name);
  if (fact?.kind === 'present') return { name: 'bound', state: 'open', sentence: fact.sentence };
  const waiting = `it goes on ${claim.bind.interface} when the other gates are open`;
  return finding('bound', { isOpen: false, ...(fact ?? { sentence: waiting }) });
}

function pooledGate({ claim, pool, outlives }: ClaimSubject, view: View): Gate {
  const { address, name } = claim.object;
  if (pool === undefined) return inConflict(claim, view) ?? inNoPool(claim);
  const own = ownPlace(address, claim.source, view);
  if (own !== undefined) {
    const sentence = `${formatAddress(address)} is this machine's own address (${own})`;
    const remedy = `claim an address that no machine has; ${name} would take this machine off the network`;
    return { name: 'allowed', state: 'closed', sentence, remedy };
  }
  return heldBy(pool, outlives);
}

/** The pool that would hold it overlaps another one, which stood before it. */
function inConflict({ object: claim }: Sourced<IpClaim>, { documents }: View): Gate | undefined {
  const found = documents.conflicting?.find(
    ({ object }) =>
      (claim.pool === undefined || claim.pool === object.name) && poolHolds(object, claim.address),
  );
  if (found === undefined) return undefined;
  const { name } = found.object;
  const sentence = `${formatAddress(claim.address)} is in IPPool ${name}, which is refused: it overlaps another pool`;
  const remedy = `change the addresses of one of the two; the condition Ready of IPPool ${name} names the other`;
  return { name: 'allowed', state: 'closed', sentence, remedy };
}

function inNoPool({ object: claim, source }: Sourced<IpClaim>): Gate {
  const address = formatAddress(claim.address);
  if (source === 'api' && outlivesPool(claim)) {
    const sentence = `IPPool ${claim.pool} is gone, and this node has never known it: nobody can say how ${address} is announced`;
    const remedy = `make IPPool ${claim.pool} again, with ${address} in it`;
    return { name: 'allowed', state: 'closed', sentence, remedy };
  }
  const sentence =
    claim.pool === undefined
      ? `${address} is in no pool`
      : `${address} is not in pool ${claim.pool}`;
  const remedy = 'add it to the addresses of an IPPool, or claim another address';
  return { name: 'allowed', state: 'closed', sentence, remedy };
}

/** one object per pool: gates that are the same objects as before are known not to have changed */
const held = { still: newGates(), shrunk: newGates(), gone: newGates() };

function newGates(): WeakMap<IpPool, Gate> {
  return new WeakMap();
}

function heldBy(pool: IpPool, outlives: ClaimSubject['outlives']): Gate {
  const gates = held[outlives ?? 'still'];
  const known = gates.get(pool);
  if (known !== undefined) return known;
  const gate: Gate = { name: 'allowed', state: 'open', sentence: holdsSentence(pool, outlives) };
  gates.set(pool, gate);
  return gate;
}

function holdsSentence({ name }: IpPool, outlives: ClaimSubject['outlives']): string {
  switch (outlives) {
    case undefined:
      return `pool ${name} holds it`;
    case 'shrunk':
      return `pool ${name} does not hold it any more; it stays until its Services leave it`;
    case 'gone':
      return `pool ${name} is gone; it stays as that said until its Services leave it`;
  }
}

function closed(name: Gate['name'], sentence: string, remedy: string): TimedGate {
  return { gate: { name, state: 'closed', sentence, remedy } };
}

function finding(name: Gate['name'], found: Finding): Gate {
  const { isOpen, sentence, remedy, isUnknown } = found;
  if (isOpen) return { name, state: 'open', sentence };
  const more = { ...optional('remedy', remedy), ...optional('isUnknown', isUnknown) };
  return { name, state: 'closed', sentence, ...more };
}

/** A check of the claim's own address can only pass while the address is there: such a claim keeps it while it is unhealthy. */
export function asksItself(claim: IpClaim): boolean {
  const own = formatAddress(claim.address);
  return claim.checks.some(({ target }) => checkHost(target) === own);
}
