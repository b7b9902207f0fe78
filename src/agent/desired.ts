/**
 * `desired(view)`: which sessions, which routes on each, which addresses on which interface, and for everything that is
 * not announced the gate that says why. Pure, total, and the only place where that is decided.
 *
 * The order of claims matters in one respect only: a peer takes `maxRoutes` of them, and the newest are refused, so that a
 * flood of claims never costs one that stands (a router's own prefix limit would end the whole session).
 */

import {
  compareAddress,
  hostPrefix,
  type PeerSettings,
  type Prefix,
  type Route,
  type RouteAttributes,
} from 'bgp-ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { Advertisement, IpPool } from '../model/ip-pool.ts';
import { selects } from '../model/labels.ts';
import {
  asksItself,
  type ClaimGates,
  type ClaimSubject,
  claimGates,
  earlier,
  subjectOf,
} from './claim-gates.ts';
import type { Gate } from './gate.ts';
import { joinedGates } from './joined-gate.ts';
import { type PeerPlan, planPeer, type SessionTemplate, withoutTwins } from './peer-settings.ts';
import { RouteAttributeTable } from './route-attributes.ts';
import type { View } from './view.ts';

export interface DesiredState {
  readonly plans: readonly PeerPlan[];
  readonly peers: readonly DesiredSession[];
  readonly ranges: readonly DesiredRangeSession[];
  readonly claims: readonly ClaimDecision[];
  /** by claim name: what should be on an interface */
  readonly bindings: ReadonlyMap<string, BindingWish>;
  /** when something changes by time alone */
  readonly wakeAtMs?: number;
}

export interface DesiredSession {
  readonly settings: PeerSettings;
  readonly routes: readonly Route[];
}

export interface DesiredRangeSession {
  readonly name: string;
  readonly range: Prefix;
  readonly template: SessionTemplate;
  readonly routes: readonly Route[];
}

export interface BindingWish {
  readonly claim: IpClaim;
  readonly interface: string;
}

export interface ClaimDecision {
  readonly subject: ClaimSubject;
  readonly gates: ClaimGates;
  readonly peers: readonly PeerDecision[];
}

export interface PeerDecision {
  readonly peer: string;
  /** the peer's half of the gate: selected, right family, room left */
  readonly allowed: Gate;
  /** absent = not announced */
  readonly route?: { readonly attributes: RouteAttributes; readonly isDraining: boolean };
}

/** Attribute objects live as long as the pools that they come from, so that an unchanged route is the same object next time. */
const attributeTable = new RouteAttributeTable();

export function desired(view: View): DesiredState {
  const plans = withoutTwins(
    view.documents.peers.flatMap(({ object }) => planPeer(object, view) ?? []),
  );
  const outlets = plans.map((plan): Outlet => ({ plan, routes: [], places: 0 }));
  const pools = view.documents.pools.map(({ object }) => object);
  const joined = joinedGates(view);
  const bindings = new Map<string, BindingWish>();
  const claims = subjects(view, pools).map((subject): ClaimDecision => {
    const gates = claimGates(subject, view, joined);
    const { name, bind } = subject.claim.object;
    if (bind !== undefined && mayBind(subject.claim.object, gates)) {
      bindings.set(name, { claim: subject.claim.object, interface: bind.interface });
    }
    return { subject, gates, peers: decidePeers({ subject, gates, view, outlets }) };
  });
  let wakeAtMs: number | undefined;
  for (const { gates } of claims) wakeAtMs = earlier(wakeAtMs, gates.wakeAtMs);
  return {
    plans,
    peers: outlets.flatMap(neighbourOf),
    ranges: outlets.flatMap(rangeOf),
    claims,
    bindings,
    ...(wakeAtMs === undefined ? {} : { wakeAtMs }),
  };
}

/** A peer, what is announced to it so far, and how many claims have a place there. */
interface Outlet {
  readonly plan: PeerPlan;
  readonly routes: Route[];
  places: number;
}

function neighbourOf({ plan, routes }: Outlet): DesiredSession[] {
  return plan.kind === 'neighbour' ? [{ settings: plan.settings, routes }] : [];
}

function rangeOf({ plan, routes }: Outlet): DesiredRangeSession[] {
  if (plan.kind !== 'range') return [];
  return [{ name: plan.peer.name, range: plan.range, template: plan.template, routes }];
}

/** oldest first; a departing claim stands in for the document of the same name */
function subjects(view: View, pools: readonly IpPool[]): readonly ClaimSubject[] {
  const { departures } = view;
  const claims = oldestFirst(view.documents.claims);
  const about = { pools, node: view.node, ...fence(view) };
  if (departures.size === 0) return claims.map((claim) => subjectOf(claim, about));
  const present = new Set(claims.map(({ object }) => object.name));
  const gone = [...departures.values()].filter(({ claim }) => !present.has(claim.object.name));
  return [...claims, ...gone.map(({ claim }) => claim)]
    .toSorted(byAge)
    .map((claim) => subjectOf(claim, about, departures.get(claim.object.name)));
}

function fence({ fencedSinceMs }: View): Pick<View, 'fencedSinceMs'> {
  return fencedSinceMs === undefined ? {} : { fencedSinceMs };
}

/** Documents change seldom, facts often: the order is kept with the list that it is of. */
const orders = new WeakMap<readonly Sourced<IpClaim>[], readonly Sourced<IpClaim>[]>();

function oldestFirst(claims: readonly Sourced<IpClaim>[]): readonly Sourced<IpClaim>[] {
  const known = orders.get(claims);
  if (known !== undefined) return known;
  const sorted = claims.toSorted(byAge);
  orders.set(claims, sorted);
  return sorted;
}

function byAge(a: Sourced<IpClaim>, b: Sourced<IpClaim>): number {
  return a.createdMs - b.createdMs || compareAddress(a.object.address, b.object.address);
}

/** Everything but `bound` itself; and health only where the checks can pass without the address. */
function mayBind(claim: IpClaim, gates: ClaimGates): boolean {
  const needed = [gates.joined, gates.assigned, gates.pooled, gates.notDraining];
  if (!asksItself(claim)) needed.push(gates.healthy);
  return needed.every(({ state }) => state !== 'closed');
}

interface Deciding {
  readonly subject: ClaimSubject;
  readonly gates: ClaimGates;
  readonly view: View;
  readonly outlets: readonly Outlet[];
}

function decidePeers({ subject, gates, view, outlets }: Deciding): readonly PeerDecision[] {
  const { joined, assigned, healthy, bound, pooled, notDraining } = gates;
  const own = [joined, assigned, healthy, bound, pooled, notDraining];
  const isHeldBack = own.some(({ state }) => state === 'closed');
  const isDraining = own.some(({ state }) => state === 'draining');
  const isElsewhere = assigned.state === 'closed' || notDraining.state === 'closed';
  return outlets.map((outlet): PeerDecision => {
    const { plan } = outlet;
    const peer = plan.peer.name;
    if (pooled.state === 'closed') return { peer, allowed: pooled };
    if (plan.kind === 'refused') return { peer, allowed: closed(plan.sentence) };
    const { allowed, advertisement } = peerGate(subject, plan.peer, view);
    if (allowed.state === 'closed' || isElsewhere) return { peer, allowed };
    // a place is kept while the claim is unhealthy too: whether a younger one gets in must not depend on it
    if (outlet.places >= plan.peer.maxRoutes) return { peer, allowed: full(plan.peer) };
    outlet.places += 1;
    if (isHeldBack) return { peer, allowed };
    const { placement, level = 0 } = subject;
    const attributes = attributeTable.attributes(advertisement, { placement, level, isDraining });
    outlet.routes.push({ prefix: hostPrefix(subject.claim.object.address), attributes });
    return { peer, allowed, route: { attributes, isDraining } };
  });
}

interface PeerGate {
  readonly allowed: Gate;
  readonly advertisement?: Advertisement;
}

function peerGate({ claim, pool }: ClaimSubject, peer: BgpPeer, view: View): PeerGate {
  const { family } = claim.object.address;
  if (!peer.families.includes(family)) {
    const remedy = `add ${family} to the families of BGPPeer ${peer.name}`;
    return { allowed: closed(`${peer.name} carries no ${family} routes`, remedy) };
  }
  const advertisements = pool?.advertisements ?? [];
  if (pool === undefined || advertisements.length === 0) return { allowed: OPEN };
  const advertisement = advertisements.find(
    ({ peerSelector, nodeSelector }) =>
      selects(peerSelector, peer.labels) && selects(nodeSelector, view.node.labels),
  );
  if (advertisement !== undefined) return { allowed: OPEN, advertisement };
  const sentence = `no advertisement of pool ${pool.name} selects peer ${peer.name} on this node`;
  return {
    allowed: closed(
      sentence,
      `add an advertisement to IPPool ${pool.name}, or change its selectors`,
    ),
  };
}

const OPEN: Gate = {
  name: 'allowed',
  state: 'open',
  sentence: 'a pool holds it, and an advertisement selects this peer and node',
};

function full({ name, maxRoutes }: BgpPeer): Gate {
  const sentence = `${name} takes at most ${maxRoutes} routes (maxRoutes), and older claims have them all`;
  const remedy = `raise maxRoutes of BGPPeer ${name}, and the router's own prefix limit with it`;
  return { ...closed(sentence, remedy), isLimit: true };
}

function closed(sentence: string, remedy?: string): Gate {
  return {
    name: 'allowed',
    state: 'closed',
    sentence,
    ...(remedy === undefined ? {} : { remedy }),
  };
}
