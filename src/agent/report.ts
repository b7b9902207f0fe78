/**
 * The agent's status from what was decided and what the sessions say. Pure. Here, and only here, the two meet: a route is
 * `up` when it is wanted and the session that carries it is established.
 */

import {
  communityName,
  formatAddress,
  formatCommunity,
  formatEndpoint,
  formatLargeCommunity,
  formatPrefix,
  type PeerStatus,
  type RouteAttributes,
} from 'bgp-ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { aggregateSent } from './aggregates.ts';
import { type Carried, type Carriers, carryRemedy, sessionGate } from './carriers.ts';
import { claimGateList, healthyGate } from './claim-gates.ts';
import type { ClaimDecision, DesiredState, PeerDecision } from './desired.ts';
import type { Gate } from './gate.ts';
import type { GateHistory } from './gate-history.ts';
import { joinedGateOf, joinedGates, nodeGate } from './joined-gate.ts';
import type { KeptRoutes, Lost } from './kept-routes.ts';
import type { PeerPlan } from './peer-settings.ts';
import type { SessionFacts } from './session-facts.ts';
import {
  ABANDONED,
  type AgentStatus,
  type ClaimPeerStatus,
  type ClaimStatus,
  type GateStatus,
  type SessionStatus,
  type StatusDocument,
} from './status.ts';
import type { View } from './view.ts';

export interface StatusInput {
  readonly desired: DesiredState;
  readonly sessions: readonly PeerStatus[];
  /** why an established session carries nothing of a family */
  readonly facts: Pick<SessionFacts, 'refusal' | 'carriers'>;
  /** what routers may still have of sessions that are down */
  readonly kept: Pick<KeptRoutes, 'secondsOf' | 'abandoned'> | undefined;
  readonly history: GateHistory;
  readonly view: View;
  readonly identity: Pick<AgentStatus, 'node' | 'routerId' | 'version' | 'pid' | 'source'> & {
    readonly startedMs: number;
  };
  /** a moment of the monotonic clock, for people */
  readonly timeOf: (atMs: number) => string;
  readonly warnings: readonly string[];
}

/** Called after each decision, so that "since" is when a gate moved and not when somebody looked. */
export function rememberGates({ claims }: DesiredState, view: View, history: GateHistory): void {
  history.remember('', [nodeGate(view)], view.nowMs);
  history.rememberAll(claims, view.nowMs);
}

export function buildStatus(input: StatusInput): AgentStatus {
  const { claims, ...others } = statusDocument(input);
  return { ...others, claims: [...claims] };
}

/** At the cost of nothing per claim, until somebody goes through them. */
export function statusDocument(input: StatusInput): StatusDocument {
  const { view, identity, timeOf, desired } = input;
  const { startedMs, ...who } = identity;
  const { nodeDrain, stopDrain = nodeDrain } = view;
  const stale = view.stale ?? view.staleApi;
  const carriers = input.facts.carriers(input.sessions);
  return {
    ...who,
    startedAt: timeOf(startedMs),
    ...(stale === undefined
      ? {}
      : { stale: { since: timeOf(stale.sinceMs), sentence: stale.sentence } }),
    joined: gateStatus(input, '', nodeGate(view)),
    ...(stopDrain === undefined
      ? {}
      : { draining: { since: timeOf(stopDrain.sinceMs), reason: stopDrain.reason } }),
    sessions: [
      ...desired.plans.flatMap((plan) => sessionStatus(input, plan)),
      ...(input.kept?.abandoned ?? []).map((lost) => abandonedSession(input, lost)),
    ],
    claims: {
      *[Symbol.iterator]() {
        for (const decision of desired.claims) yield claimStatus(input, decision, carriers);
      },
    },
    faults: view.documents.faults,
    warnings: [...input.warnings, ...poolWarnings(view), ...discardWarnings(desired, view)],
  };
}

/** aggregates that are wished for, and that the kernel has no discard route for */
function discardWarnings({ discards }: DesiredState, view: View): readonly string[] {
  return [...discards].flatMap(([key, prefix]) => {
    const fact = view.discards?.get(key);
    if (fact?.kind !== 'absent') return [];
    return [`the aggregate ${formatPrefix(prefix)} is not announced: ${fact.sentence}`];
  });
}

function poolWarnings(view: View): readonly string[] {
  return view.documents.pools.flatMap(({ object, origin }) =>
    object.ranges
      .filter(({ masked }) => masked === true)
      .map(
        ({ text, first }) =>
          `IPPool ${object.name} (${origin}): ${text} is no network address; the whole network from ${formatAddress(first)} on is taken`,
      ),
  );
}

function sessionStatus(input: StatusInput, plan: PeerPlan): readonly SessionStatus[] {
  const { peer } = plan;
  if (plan.kind === 'refused') {
    const kept = keptTime(input, plan, { name: peer.name, state: 'idle' });
    return [{ ...refusedSession(plan, input), ...kept }];
  }
  const own = input.sessions.filter(
    ({ name }) => name === peer.name || name.startsWith(`${peer.name}/`),
  );
  const { localAsn } = plan.kind === 'neighbour' ? plan.settings : plan.template;
  const address =
    plan.kind === 'range'
      ? formatPrefix(plan.range)
      : formatPeerAddress(formatAddress(plan.settings.address), plan.settings.port);
  const base = { peer: peer.name, address, asn: peer.asn, localAsn };
  if (own.length === 0) {
    const since = input.timeOf(input.identity.startedMs);
    const idle = { ...base, state: 'idle', since, routesSent: 0, routesReceived: 0 };
    return [{ ...idle, ...keptTime(input, plan, { name: peer.name, state: 'idle' }) }];
  }
  return own.map((session) => ({
    ...base,
    ...liveSession(session, plan.kind === 'range'),
    ...restartTime(plan, session),
    ...keptTime(input, plan, session),
    ...cannotCarry(input, plan, session),
  }));
}

/** of a BGPPeer that was deleted, does not select this node any more, or leads to another router now */
function abandonedSession({ timeOf }: StatusInput, lost: Lost): SessionStatus {
  const { name: peer, router, seconds: keptSeconds, sinceMs } = lost;
  const { address, asn, localAsn } = router;
  return {
    ...{ peer, address, asn, localAsn, keptSeconds },
    state: ABANDONED,
    since: timeOf(sinceMs),
    routesSent: 0,
    routesReceived: 0,
    lastError: `no session leads to this router any more; it may keep the routes of this node for ${keptSeconds} s`,
  };
}

function restartTime(
  { peer: { gracefulRestart } }: PeerPlan,
  { negotiated }: PeerStatus,
): Pick<SessionStatus, 'restartSeconds'> {
  if (gracefulRestart === undefined || negotiated?.peerGracefulRestart === undefined) return {};
  return { restartSeconds: gracefulRestart.restartSeconds };
}

function keptTime(
  { kept }: StatusInput,
  plan: PeerPlan,
  session: Pick<PeerStatus, 'name' | 'state'>,
): Pick<SessionStatus, 'keptSeconds'> {
  const keptSeconds = kept?.secondsOf(plan, session) ?? 0;
  return keptSeconds === 0 ? {} : { keptSeconds };
}

function formatPeerAddress(address: string, port: number | undefined): string {
  if (port === undefined) return address;
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

function refusedSession(
  { peer, sentence }: Extract<PeerPlan, { kind: 'refused' }>,
  { timeOf, identity }: StatusInput,
): SessionStatus {
  const { target, asn, localAsn = 0, port } = peer;
  const address =
    target.kind === 'range'
      ? formatPrefix(target.range)
      : formatPeerAddress(formatAddress(target.address), port === 179 ? undefined : port);
  return {
    peer: peer.name,
    address,
    asn,
    localAsn,
    state: 'refused',
    since: timeOf(identity.startedMs),
    routesSent: 0,
    routesReceived: 0,
    refused: sentence,
  };
}

function liveSession(session: PeerStatus, isDynamic: boolean) {
  const { routesAdvertised, negotiated, lastError, remote } = session;
  return {
    ...(isDynamic ? { peer: session.name } : {}),
    ...(isDynamic && remote !== undefined ? { address: formatEndpoint(remote) } : {}),
    state: session.state,
    since: new Date(session.sinceMs).toISOString(),
    routesSent: routesAdvertised.ipv4 + routesAdvertised.ipv6,
    routesReceived: session.counters.routesReceived,
    ...(negotiated === undefined
      ? {}
      : { holdSeconds: negotiated.holdTimeSeconds, asn: negotiated.peerAsn }),
    ...(lastError === undefined ? {} : { lastError }),
  };
}

/** families that the peer is meant to have, and that this session does not take */
function cannotCarry(
  { facts }: StatusInput,
  { peer }: PeerPlan,
  { name, state }: PeerStatus,
): Pick<SessionStatus, 'cannotCarry'> {
  if (state !== 'established') return {};
  const found = peer.families.flatMap((family) => {
    const refusal = facts.refusal(name, family);
    if (refusal === undefined) return [];
    const sentence = `${refusal.detail}; ${carryRemedy(peer.name, family, refusal)}`;
    return { family, sentence };
  });
  return found.length === 0 ? {} : { cannotCarry: found };
}

function claimStatus(input: StatusInput, decision: ClaimDecision, carriers: Carriers): ClaimStatus {
  const { subject, gates, peers } = decision;
  const { object, origin } = subject.claim;
  const { name, bind } = object;
  const joinedNow = joinedGateOf(subject.claim, subject.pool, joinedGates(input.view));
  const told = {
    ...gates,
    joined: lastWord(gates.joined, joinedNow),
    healthy: lastWord(gates.healthy, healthyGate(subject.claim, input.view).gate),
  };
  const own = claimGateList(told).map((gate) => gateStatus(input, name, gate));
  return {
    address: formatAddress(object.address),
    name,
    ...(subject.pool === undefined ? {} : { pool: subject.pool.name }),
    origin,
    ...(bind === undefined ? {} : { interface: bind.interface }),
    ...(subject.level === undefined ? {} : { level: subject.level }),
    gates: own,
    peers: peers.map((peer) => claimPeerStatus(input, { claim: object, own, peer, carriers })),
    ...(isOnItsWayOut(subject) ? { leaving: true } : {}),
  };
}

/** one that is held goes nowhere before another node has it, and its gates say so */
function isOnItsWayOut({ departure }: ClaimDecision['subject']): boolean {
  return departure !== undefined && departure.held === undefined;
}

/** One failure of three decides nothing, so nothing is decided anew; people read of it all the same. */
function lastWord(decided: Gate, now: Gate): Gate {
  return now.state === decided.state ? now : decided;
}

function claimPeerStatus(
  input: StatusInput,
  about: {
    readonly claim: IpClaim;
    readonly own: readonly GateStatus[];
    readonly peer: PeerDecision;
    readonly carriers: Carriers;
  },
): ClaimPeerStatus {
  const { claim, own, peer, carriers } = about;
  const { family } = claim.address;
  const carried = carriers.of(peer.peer, family);
  const isRefused = peer.route !== undefined && carried.kind === 'refused';
  const gate = isRefused ? sessionGate(peer.peer, family, carried.refusal) : peer.allowed;
  const allowed = gateStatus(input, claim.name, gate, peer.peer);
  return {
    peer: peer.peer,
    route: isRefused ? 'none' : routeState(carried, peer),
    gates: own.map((one) => (one.name === 'allowed' ? allowed : one)),
    ...(peer.route === undefined || isRefused ? {} : routeText(input, peer)),
  };
}

/** Of an aggregate what is sent, which is not what a claim that drains alone would have. */
function routeText({ desired }: StatusInput, { peer, route }: PeerDecision) {
  if (route === undefined) return {};
  const { aggregate } = route;
  if (aggregate === undefined) return { attributes: formatAttributes(route.attributes) };
  const sent = aggregateSent(desired, peer, aggregate) ?? route.attributes;
  return { attributes: formatAttributes(sent), aggregate: formatPrefix(aggregate) };
}

function routeState({ kind }: Carried, { route }: PeerDecision): ClaimPeerStatus['route'] {
  if (route === undefined) return 'none';
  if (kind === 'down') return 'waiting';
  return route.isDraining ? 'draining' : 'up';
}

function formatAttributes(attributes: RouteAttributes): NonNullable<ClaimPeerStatus['attributes']> {
  const {
    communities = [],
    largeCommunities = [],
    prepend = 0,
    med,
    localPref,
    nextHop,
  } = attributes;
  return {
    ...(nextHop === undefined ? {} : { nextHop: formatAddress(nextHop) }),
    communities: [
      ...communities.map((value) => communityName(value) ?? formatCommunity(value)),
      ...largeCommunities.map(formatLargeCommunity),
    ],
    prepend,
    ...(med === undefined ? {} : { med }),
    ...(localPref === undefined ? {} : { localPref }),
  };
}

function gateStatus(
  { history, view, timeOf }: StatusInput,
  subject: string,
  gate: Gate,
  peer?: string,
): GateStatus {
  return { ...gate, since: timeOf(history.sinceMs(subject, gate.name, peer) ?? view.nowMs) };
}
