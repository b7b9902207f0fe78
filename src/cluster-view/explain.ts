/**
 * What there is to say about a Service or an address in a cluster, as data: what was given to it and why not, where it is placed, and what
 * each node does with it. Pure; render-explain.ts sets it as text, and `--json` prints it as it is.
 */

import { formatAddress } from 'bgp-ts';
import { ALLOCATED_CONDITION } from '../allocator/decision.ts';
import { ADVERTISED } from '../controller/advertised.ts';
import type { CachedDocument } from '../controller/cached-document.ts';
import { EXHAUSTED_CONDITION } from '../controller/pool-conditions.ts';
import { formatClaimName } from '../model/claim-name.ts';
import { claimPhase } from '../model/claim-phase.ts';
import { outlivesPool } from '../model/former-pools.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import {
  ANYCAST_LABEL,
  isNodeLabel,
  LOAD_BALANCER_CLASS,
  levelOf,
  parseLevel,
  RELEASED_BY_ANNOTATION,
} from '../model/names.ts';
import { optional } from '../model/optional.ts';
import { poolHolds } from '../model/pool-addresses.ts';
import { type Condition, type Service, serviceKey } from '../model/service.ts';
import { type ExplainFacts, subjectText } from './explain-facts.ts';
import { type ClaimCase, type NodeAnswer, nodeAnswer } from './node-answer.ts';

export interface Explanation {
  /** as it was asked for */
  readonly subject: string;
  readonly services: readonly ServiceAnswer[];
  readonly claims: readonly ClaimAnswer[];
  /** pools that matter here, and how full they are */
  readonly pools: readonly PoolAnswer[];
  /** of an address that nobody claims */
  readonly unclaimed?: { readonly claimName: string; readonly pool?: string };
  readonly agentless: readonly string[];
  readonly notes: readonly string[];
}

export interface ServiceAnswer {
  readonly service: string;
  readonly allocation: Verdict;
  readonly advertised?: Verdict;
}

export interface Verdict {
  readonly state: 'yes' | 'no' | 'unknown' | 'not-ours';
  readonly reason: string;
  readonly message: string;
  readonly since?: string;
  /** the nodes say otherwise by now: the controller writes it a moment later */
  readonly isOutdated?: true;
}

export interface ClaimAnswer {
  readonly address: string;
  readonly claim: string;
  readonly pool?: string;
  readonly services: readonly string[];
  readonly phase: string;
  readonly since?: string;
  readonly placement: PlacementAnswer;
  /** why there is nothing more to say of it */
  readonly refused?: string;
  readonly released?: string;
  readonly withdrawn?: string;
  readonly nodes: readonly NodeAnswer[];
}

export interface PlacementAnswer {
  readonly mode: 'anycast' | 'exclusive';
  readonly holder?: string;
  /** nodes that have a part in it and at which step, when more than the holder have */
  readonly levels: readonly { readonly node: string; readonly level: number }[];
  readonly reason: string;
  readonly message: string;
}

export interface PoolAnswer {
  readonly pool: string;
  readonly used: number;
  readonly total: number;
  readonly free: number;
  readonly fullSince?: string;
  readonly refused?: string;
}

export function explain(facts: ExplainFacts, nowMs: number): Explanation {
  const { subject, services, claims } = facts;
  const answers = claims.map((claim) => claimAnswer(claim, facts, nowMs));
  const isUnclaimed = subject.kind === 'address' && claims.length === 0;
  const holding = isUnclaimed ? poolAt(facts, subject.address) : undefined;
  return {
    subject: subjectText(subject),
    services: services.map((service) => serviceAnswer(service, answers)),
    claims: answers,
    pools: poolAnswers(facts, new Set([...answers.flatMap(({ pool }) => pool ?? []), holding])),
    ...(isUnclaimed
      ? {
          unclaimed: {
            claimName: formatClaimName(subject.address),
            ...optional('pool', holding),
          },
        }
      : {}),
    agentless: facts.agentless ?? [],
    notes: [...facts.notes, ...refusedPeers(facts)],
  };
}

function poolAt({ pools }: ExplainFacts, address: IpClaim['address']): string | undefined {
  return pools.find((pool) => pool.ok && poolHolds(pool.object, address))?.meta.name;
}

function refusedPeers({ peers }: ExplainFacts): readonly string[] {
  return peers.flatMap((peer) =>
    peer.ok ? [] : `BGPPeer ${peer.meta.name} is not in force: ${peer.sentence}`,
  );
}

function serviceAnswer(service: Service, claims: readonly ClaimAnswer[]): ServiceAnswer {
  const key = serviceKey(service);
  const own = claims.filter(({ services }) => services.includes(key));
  const advertised = compared(verdictOf(service.conditions, ADVERTISED), own);
  return {
    service: key,
    allocation: verdictOf(service.conditions, ALLOCATED_CONDITION) ?? untold(service),
    ...optional('advertised', advertised),
  };
}

function verdictOf(conditions: readonly Condition[], wanted: string): Verdict | undefined {
  const condition = conditions.find(({ type }) => type === wanted);
  if (condition === undefined) return undefined;
  const { status, reason, message, lastTransitionTime } = condition;
  const state = status === 'True' ? 'yes' : status === 'False' ? 'no' : 'unknown';
  return { state, reason, message, ...optional('since', lastTransitionTime) };
}

/** What the nodes say now counts more than the condition, which is written seconds later. */
function compared(
  verdict: Verdict | undefined,
  claims: readonly ClaimAnswer[],
): Verdict | undefined {
  const nodes = claims.flatMap((claim) => claim.nodes);
  const isOut = claims.some((claim) => claim.nodes.some(isAnnouncing));
  const isOpen = nodes.length === 0 || nodes.some(({ route }) => route === 'unknown');
  if (verdict === undefined || verdict.state === 'not-ours' || isOpen) return verdict;
  const wasOut = verdict.state === 'yes';
  const isOutdated = verdict.state !== 'unknown' && wasOut !== isOut;
  return isOutdated ? { ...verdict, isOutdated } : verdict;
}

function isAnnouncing({ route }: NodeAnswer): boolean {
  return route === 'announced' || route === 'draining';
}

/** no controller of ours has said anything about it */
function untold(service: Service): Verdict {
  const { isLoadBalancer, loadBalancerClass: own, externalIps } = service;
  const isOurs = own === LOAD_BALANCER_CLASS;
  if (!isLoadBalancer && externalIps.length === 0) {
    const message = 'it is not of type LoadBalancer, and has no externalIPs: no address is for it';
    return { state: 'not-ours', reason: 'NotALoadBalancer', message };
  }
  if (isLoadBalancer && own !== undefined && !isOurs) {
    const message = `its loadBalancerClass is ${own}, which is another balancer's`;
    return { state: 'not-ours', reason: 'OtherClass', message };
  }
  if (isLoadBalancer && !isOurs) {
    const message = `it has no loadBalancerClass; Herald serves it only where the controller runs with --default-class (${LOAD_BALANCER_CLASS} is its class)`;
    return { state: 'not-ours', reason: 'NoClass', message };
  }
  const message = 'no controller has looked at it yet; herald status tells whether one leads';
  return { state: 'unknown', reason: 'NotLookedAt', message };
}

function claimAnswer(
  document: CachedDocument<IpClaim>,
  facts: ExplainFacts,
  nowMs: number,
): ClaimAnswer {
  const { meta } = document;
  const placed = meta.conditions.find(({ type }) => type === 'Placed');
  const phase = claimPhase(meta.status['phase'], meta.labels);
  // an anycast claim that nothing has stood in the way of has no status, and is placed since it was made
  const madeAt = phase === 'Placed' ? new Date(meta.createdMs).toISOString() : undefined;
  const shared = {
    claim: meta.name,
    phase,
    ...optional('since', placed?.lastTransitionTime ?? madeAt),
    ...optional('released', meta.annotations[RELEASED_BY_ANNOTATION]),
  };
  const told = { reason: placed?.reason ?? '', message: placed?.message ?? '' };
  if (!document.ok) {
    const placement: PlacementAnswer = { mode: 'anycast', levels: [], ...told };
    const { sentence: refused } = document;
    return { ...shared, address: meta.name, services: [], placement, refused, nodes: [] };
  }
  const claim = document.object;
  const pool = poolOf(claim, facts);
  const mode = modeOf(claim, pool);
  const subject: ClaimCase = { claim, pool, peers: peersOf(facts), nowMs };
  const concerned = facts.nodes.filter(({ name }) => mode === 'anycast' || hasPart(claim, name));
  return {
    ...shared,
    address: formatAddress(claim.address),
    ...optional('pool', pool?.name ?? claim.pool),
    services: claim.services.map(serviceKey),
    placement: { mode, ...optional('holder', claim.node), levels: levelsOf(claim, facts), ...told },
    ...optional('withdrawn', claim.withdrawn?.reason),
    nodes: concerned.map((each) => nodeAnswer(each, subject)),
  };
}

function peersOf({ peers }: ExplainFacts) {
  return peers.flatMap((peer) => (peer.ok ? peer.object : []));
}

function poolOf(claim: IpClaim, { pools }: ExplainFacts): IpPool | undefined {
  const made = pools.flatMap((pool) => (pool.ok ? pool.object : []));
  const holding = made.find(
    (pool) => (claim.pool ?? pool.name) === pool.name && poolHolds(pool, claim.address),
  );
  if (holding !== undefined || !outlivesPool(claim)) return holding;
  return made.find(({ name }) => name === claim.pool);
}

/** its labels say it, since agents go by them; before it has any, its own words and its pool's do */
function modeOf({ labels, placement }: IpClaim, pool: IpPool | undefined): PlacementAnswer['mode'] {
  if (ANYCAST_LABEL in labels) return 'anycast';
  if (Object.keys(labels).some(isNodeLabel)) return 'exclusive';
  return placement?.mode ?? pool?.placement.mode ?? 'anycast';
}

function hasPart(claim: IpClaim, node: string): boolean {
  const isPlaced = claim.node !== undefined || Object.keys(claim.labels).some(isNodeLabel);
  return !isPlaced || claim.node === node || levelOf(claim.labels, node) !== undefined;
}

function levelsOf({ labels }: IpClaim, { nodes }: ExplainFacts): PlacementAnswer['levels'] {
  const found = Object.entries(labels).filter(([key]) => isNodeLabel(key));
  if (found.length < 2) return [];
  return found.map(([key, value]) => {
    const known = nodes.find(({ name }) => levelOf({ [key]: value }, name) !== undefined);
    return { node: known?.name ?? key.slice(key.indexOf('/') + 1), level: parseLevel(value) };
  });
}

/** Those that the claims are of; where there is none, those that a Service without an address could wait for. */
function poolAnswers(
  { pools, claims, subject }: ExplainFacts,
  names: ReadonlySet<string | undefined>,
): readonly PoolAnswer[] {
  const isWaiting = subject.kind === 'service' && claims.length === 0;
  return pools
    .filter(({ meta }) => isWaiting || names.has(meta.name))
    .map((pool) => poolAnswer(pool));
}

export function poolAnswer(pool: CachedDocument<IpPool>): PoolAnswer {
  const { name, status, conditions } = pool.meta;
  const full = conditions.find(({ type }) => type === EXHAUSTED_CONDITION);
  const ready = conditions.find(({ type }) => type === 'Ready');
  const refused = pool.ok ? (ready?.status === 'False' ? ready.message : undefined) : pool.sentence;
  return {
    pool: name,
    used: count(status['used']),
    total: count(status['total']),
    free: count(status['free']),
    ...optional('fullSince', full?.status === 'True' ? full.lastTransitionTime : undefined),
    ...optional('refused', refused),
  };
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
