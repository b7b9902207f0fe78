/**
 * `desired(view)`: which sessions, which routes on each, which addresses on which interface, and for everything that is
 * not announced the gate that says why. Pure, total, and the only place where that is decided.
 *
 * The order of claims matters in one respect only: a peer takes `maxRoutes` of them, and the newest are refused, so that a
 * flood of claims never costs one that stands (a router's own prefix limit would end the whole session). Exclusive claims that have a
 * place keep it beside older ones that come (kept-places.ts).
 */

import {
  compareAddress,
  hostPrefix,
  type PeerSettings,
  type Prefix,
  type PrefixKey,
  type Route,
  type RouteAttributes,
} from 'bgp-ts';
import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { optional } from '../model/optional.ts';
import { type Form, formOf, HOST_FORM } from './aggregates.ts';
import {
  asksItself,
  type ClaimGates,
  type ClaimSubject,
  claimGateList,
  claimGates,
  earlier,
  healthyGate,
  type SubjectView,
  subjectOf,
  toldClaim,
} from './claim-gates.ts';
import {
  type DecisionContext,
  DecisionMemo,
  type PeerStep,
  type RememberedDecision,
} from './decision-memo.ts';
import type { Gate } from './gate.ts';
import { Outlet, routesOf } from './outlet.ts';
import { closed, full, type PeerGate, peerGate, told } from './peer-gate.ts';
import {
  areInSeveralAses,
  isInternal,
  nextPatienceEndMs,
  type PeerPlan,
  type SessionPlan,
  type SessionTemplate,
  usablePlans,
} from './peer-settings.ts';
import type { PlacementView } from './placement.ts';
import { RouteAttributeTable, type RouteStanding } from './route-attributes.ts';
import type { View } from './view.ts';

export interface DesiredState {
  readonly plans: readonly PeerPlan[];
  readonly peers: readonly DesiredSession[];
  readonly ranges: readonly DesiredRangeSession[];
  readonly claims: readonly ClaimDecision[];
  /** by claim name: what should be on an interface */
  readonly bindings: ReadonlyMap<string, BindingWish>;
  /** aggregates whose unused addresses this machine should discard, before they are announced */
  readonly discards: ReadonlyMap<PrefixKey, Prefix>;
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
  readonly route?: {
    readonly attributes: RouteAttributes;
    readonly isDraining: boolean;
    /** is announced in place of the host route */
    readonly aggregate?: Prefix;
  };
}

export const NOTHING_DESIRED: DesiredState = {
  plans: [],
  peers: [],
  ranges: [],
  claims: [],
  bindings: new Map(),
  discards: new Map(),
};

/** Attribute objects live as long as the pools that they come from, so that an unchanged route is the same object next time. */
const attributeTable = new RouteAttributeTable();
const memo = new DecisionMemo();

export function desired(view: View): DesiredState {
  const { state, outlets } = decideAll(view);
  if (!outlets.some(({ isWasteful }) => isWasteful)) return state;
  // who does not take the place that it keeps keeps none
  const kept = new Map(outlets.flatMap(({ key, taken }) => (key === '' ? [] : [[key, taken]])));
  return decideAll({ ...view, kept }).state;
}

function decideAll(view: View): {
  readonly state: DesiredState;
  readonly outlets: readonly Outlet[];
} {
  const plans = usablePlans(view);
  const outlets = plans.map((plan) => new Outlet(plan, view.kept));
  const context = memo.context(view, plans);
  const { pools, formerPools = [] } = view.documents;
  const about = {
    pools: pools.map(({ object }) => object),
    formerPools: formerPools.map(({ object }) => object),
    node: view.node,
    ...fence(view),
    ...optional('announcer', view.announcer),
  };
  const bindings = new Map<string, BindingWish>();
  const discards = new Map<PrefixKey, Prefix>();
  const claims: ClaimDecision[] = [];
  let wakeAtMs = nextPatienceEndMs(plans, view.nowMs);
  const deciding = { view, context, about, outlets };
  const round: RememberedDecision[] = [];
  for (const claim of claimsOf(view)) {
    const made = decide(claim, deciding);
    const { decision, steps } = made;
    for (let index = 0; index < steps.length; index += 1) {
      const [step, outlet] = [steps[index], outlets[index]];
      if (step === undefined || outlet === undefined) throw new Error('a step without its peer');
      const wish = outlet.take(claim.object.name, step);
      if (wish !== undefined) discards.set(wish.key, wish.prefix);
    }
    round.push(made);
    claims.push(decision);
    wakeAtMs = earlier(wakeAtMs, decision.gates.wakeAtMs);
    const { name, bind } = decision.subject.claim.object;
    if (bind !== undefined && mayBind(decision.subject.claim.object, decision.gates)) {
      bindings.set(name, { claim: decision.subject.claim.object, interface: bind.interface });
    }
  }
  memo.endRound(round);
  const state = {
    plans,
    peers: outlets.flatMap(neighbourOf),
    ranges: outlets.flatMap(rangeOf),
    claims,
    bindings,
    discards,
    ...(wakeAtMs === undefined ? {} : { wakeAtMs }),
  };
  return { state, outlets };
}

interface Deciding {
  readonly view: View;
  readonly context: DecisionContext;
  readonly about: SubjectView;
  readonly outlets: readonly Outlet[];
}

function decide(claim: Sourced<IpClaim>, deciding: Deciding): RememberedDecision {
  const { view, context, about, outlets } = deciding;
  const departure = view.departures.get(claim.object.name);
  const healthy = healthyGate(toldClaim(claim, departure), view);
  const known = memo.recall({ claim, departure }, context, { healthy, nowMs: view.nowMs });
  if (known !== undefined && isOpenToAll(known, outlets)) return known;
  const subject = subjectOf(claim, about, departure);
  const gates = claimGates(subject, view, context.joined);
  const decided = decidedOf(subject, gates, view);
  const outcomes = outlets.map((outlet) => decidePeer(outlet, decided));
  const decision = { subject, gates, peers: outcomes.map(({ peer }) => peer) };
  return memo.remember(context, { decision, steps: outcomes.map(({ step }) => step) });
}

/** it would come to the same again: there is room where there was */
function isOpenToAll({ decision, steps }: RememberedDecision, outlets: readonly Outlet[]): boolean {
  const { name } = decision.subject.claim.object;
  return outlets.every((outlet, index) => {
    const { takesPlace = false, isFull = true, aggregate } = steps[index] ?? {};
    return !isFull && (!takesPlace || outlet.hasRoom(name, aggregate));
  });
}

function neighbourOf(outlet: Outlet): DesiredSession[] {
  const { plan } = outlet;
  if (plan.kind !== 'neighbour') return [];
  return [{ settings: plan.settings, routes: routesOf(outlet) }];
}

function rangeOf(outlet: Outlet): DesiredRangeSession[] {
  const { plan } = outlet;
  if (plan.kind !== 'range') return [];
  const { peer, range, template } = plan;
  return [{ name: peer.name, range, template, routes: routesOf(outlet) }];
}

/** oldest first; a departing claim stands in for the document of the same name */
function claimsOf({ documents, departures }: View): readonly Sourced<IpClaim>[] {
  const claims = oldestFirst(documents.claims);
  if (departures.size === 0) return claims;
  const present = new Set(claims.map(({ object }) => object.name));
  const gone = [...departures.values()].filter(
    ({ claim, held }) => held === undefined && !present.has(claim.object.name),
  );
  return [...claims, ...gone.map(({ claim }) => claim)].toSorted(byAge);
}

function fence({ fencedSinceMs, hasLapsed = false }: View): Omit<PlacementView, 'node'> {
  return fencedSinceMs === undefined ? {} : { fencedSinceMs, hasLapsed };
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

/** A claim and what is the same of it for every peer. */
interface Decided {
  readonly subject: ClaimSubject;
  readonly gates: ClaimGates;
  readonly view: View;
  readonly isShut: boolean;
  readonly isDraining: boolean;
  readonly host: Prefix;
  /** of the last peer: mostly that of all */
  step?: PeerStep;
}

function decidedOf(subject: ClaimSubject, gates: ClaimGates, view: View): Decided {
  const own = claimGateList(gates);
  const isShut = own.some(({ state }) => state === 'closed');
  const isDraining = own.some(({ state }) => state === 'draining');
  const host = hostPrefix(subject.claim.object.address);
  return { subject, gates, view, isShut, isDraining, host };
}

interface PeerOutcome {
  readonly peer: PeerDecision;
  readonly step: PeerStep;
}

const NO_STEP: PeerStep = { takesPlace: false, isFull: false };
const FULL_STEP: PeerStep = { takesPlace: false, isFull: true };
const KEPT_PLACE: PeerStep = { takesPlace: true, isFull: false };

function decidePeer(outlet: Outlet, decided: Decided): PeerOutcome {
  const { subject, gates, view, isShut } = decided;
  const { assigned, pooled, notDraining } = gates;
  const { plan } = outlet;
  const peer = plan.peer.name;
  if (pooled.state === 'closed') return { peer: { peer, allowed: pooled }, step: NO_STEP };
  if (plan.kind === 'refused') {
    const remedy = `correct BGPPeer ${peer}, or remove it: this node has no session with it until then`;
    return { peer: { peer, allowed: closed(plan.sentence, remedy) }, step: NO_STEP };
  }
  const gate = peerGate(subject, plan.peer, view);
  const { allowed, advertisement } = gate;
  const isElsewhere = assigned.state === 'closed' || notDraining.state === 'closed';
  if (allowed.state === 'closed' || isElsewhere) return { peer: { peer, allowed }, step: NO_STEP };
  const form = formOf(subject, advertisement, view.discards);
  const { aggregate, wish, place } = form;
  // a place is kept while the claim is unhealthy too: whether a younger one gets in must not depend on it
  if (!outlet.hasRoom(subject.claim.object.name, isShut ? place : aggregate)) {
    // inside an aggregate that has a place there will be room once the kernel discards for it
    const hopes = !isShut && place !== undefined && outlet.aggregates.has(place);
    const step = hopes ? { ...FULL_STEP, ...optional('wish', wish) } : FULL_STEP;
    return { peer: { peer, allowed: full(plan.peer) }, step };
  }
  if (isShut) {
    const kept = place === undefined ? KEPT_PLACE : { ...KEPT_PLACE, aggregate: place };
    return { peer: { peer, allowed }, step: kept };
  }
  return announcedTo(outlet, decided, { ...gate, plan, form });
}

/** What is said of a peer that the claim is announced to, and how. */
interface Announcement extends PeerGate {
  readonly plan: SessionPlan;
  readonly form: Form;
}

function announcedTo(outlet: Outlet, decided: Decided, how: Announcement): PeerOutcome {
  const { subject, view, isDraining, host } = decided;
  const { plan, allowed, advertisement, form } = how;
  const { aggregate, wish } = form;
  const standing = routeStanding(subject, plan, { isDraining, view });
  const attributes = attributeTable.attributes(advertisement, standing);
  if (form === HOST_FORM) {
    const peer = toldPlainly(outlet, allowed, { attributes, isDraining });
    return { peer, step: plainStep(decided, attributes) };
  }
  const prefix = aggregate?.prefix ?? host;
  const step = { takesPlace: true, isFull: false, isDraining, route: { prefix, attributes } };
  return {
    peer: {
      peer: plan.peer.name,
      allowed: told(allowed, form),
      route: { attributes, isDraining, ...optional('aggregate', aggregate?.prefix) },
    },
    step: { ...step, ...optional('aggregate', aggregate), ...optional('wish', wish) },
  };
}

function toldPlainly(
  outlet: Outlet,
  allowed: Gate,
  route: NonNullable<PeerDecision['route']>,
): PeerDecision {
  const { last, plan } = outlet;
  const isSame =
    last?.allowed === allowed &&
    last.route?.attributes === route.attributes &&
    last.route.isDraining === route.isDraining;
  if (last !== undefined && isSame) return last;
  const made = { peer: plan.peer.name, allowed, route };
  outlet.last = made;
  return made;
}

function plainStep(decided: Decided, attributes: RouteAttributes): PeerStep {
  const { step: last, host: prefix, isDraining } = decided;
  if (last?.route?.attributes === attributes) return last;
  const made = { takesPlace: true, isFull: false, isDraining, route: { prefix, attributes } };
  decided.step = made;
  return made;
}

function routeStanding(
  subject: ClaimSubject,
  plan: SessionPlan,
  { isDraining, view }: { readonly isDraining: boolean; readonly view: View },
): RouteStanding {
  const { placement, stepsDown = 0, level = stepsDown, lapsed, claim } = subject;
  const isPlaced = claim.source === 'api' && subject.level !== undefined;
  const isSimple = subject.stepsDown !== undefined;
  const standing = { placement, level, isDraining, isPlaced, isSimple };
  if (lapsed === undefined) return standing;
  const hasForeignPaths = !isInternal(plan) && areInSeveralAses(view);
  return { ...standing, lapsed, hasForeignPaths };
}
