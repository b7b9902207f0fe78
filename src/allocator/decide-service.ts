/**
 * The decision for one Service: what it has, what it gets, what it waits for, what it gives up. Pure: the same Service in the same world
 * gives the same answer, so a pass that was cut short anywhere is simply made again.
 */

import { type Address, formatAddress } from 'bgp-ts';
import { type Service, serviceKey } from '../model/service.ts';
import { AddressSet, unique } from './address-set.ts';
import { AUTO_EXTERNAL, type ClaimRecord, entryOf } from './claim-record.ts';
import { isStanding, nameOfKey, whyLeft } from './decide-address.ts';
import { decideExternal, type ExternalDecision, includes } from './decide-external.ts';
import { decideLoadBalancer, type LoadBalancerDecision } from './decide-load-balancer.ts';
import {
  type Case,
  type Grant,
  grantedAddress,
  type Problem,
  type ServiceDecision,
  type Verdict,
  type World,
} from './decision.ts';
import { externalAddresses, isLocalUntold, isOurs, serviceRequest } from './service-request.ts';

/** `undefined`: there is no Service of that name (any more). */
export function decideService(
  key: string,
  service: Service | undefined,
  world: World,
): ServiceDecision {
  const named = world.claims.ofService(key);
  if (service === undefined || service.isBeingDeleted) return gone('being-deleted', named);
  const each = caseOf(key, service, world);
  const listed = externalAddresses(service);
  const hasClaim = named.some(
    (claim) =>
      isStanding(claim, service) &&
      claim.annotations[AUTO_EXTERNAL] === undefined &&
      !includes(listed, claim.address),
  );
  const isLoadBalancer = isOurs(service, { isDefaultClass: world.isDefaultClass, hasClaim });
  const external = decideExternal(each, { isLoadBalancer });
  if (!isLoadBalancer) return plain(each, external);
  const addresses = external.grants.map(grantedAddress);
  return balanced(each, external, decideLoadBalancer(each, addresses));
}

export function caseOf(key: string, service: Service, world: World): Case {
  return { key, service, request: serviceRequest(service), world, compared: new Map() };
}

function gone(kind: 'being-deleted' | 'not-ours', leave: readonly ClaimRecord[]): ServiceDecision {
  return { kind, grants: [], leave, externalIps: NOTHING, problems: [], warnings: [] };
}

const NOTHING = { add: [], drop: [] } as const;

/** A Service that is no load balancer of ours: its external IPs are all there is. */
function plain(each: Case, external: ExternalDecision): ServiceDecision {
  const { grants, add, drop, problems, warnings } = external;
  const isUsed = grants.length + drop.length + problems.length > 0 || each.request.wantsExternal;
  if (!isUsed)
    return {
      ...gone('not-ours', claimsToLeave(each, grants, true)),
      warnings: each.request.warnings,
    };
  const needed = problems.filter(({ isOptional }) => isOptional !== true);
  return {
    kind: kindOf(grants, needed),
    grants,
    leave: claimsToLeave(each, grants, needed.length === 0),
    externalIps: { add, drop },
    ...(each.request.wantsExternal && { verdict: verdictOf(grants, problems, []) }),
    problems,
    warnings: [...warnings, ...each.request.warnings, ...leaving(each)],
  };
}

function balanced(
  each: Case,
  external: ExternalDecision,
  decision: LoadBalancerDecision,
): ServiceDecision {
  const grants = united(decision.grants, external.grants);
  const problems = [...decision.problems, ...external.problems];
  const needed = decision.problems.filter(({ isOptional }) => isOptional !== true);
  const base = {
    grants,
    externalIps: { add: external.add, drop: external.drop },
    problems,
    warnings: [...external.warnings, ...each.request.warnings, ...leaving(each)],
  };
  if (decision.foreign !== undefined) {
    const { reason, message } = decision.foreign;
    const verdict: Verdict = { status: 'False', reason, message };
    return { ...base, kind: 'owned-by-other', leave: [], verdict };
  }
  const leave = claimsToLeave(each, grants, needed.length === 0);
  const isHeld = (claim: ClaimRecord) =>
    entryOf(claim, each.service) !== undefined && !leave.includes(claim);
  // what it does not give up yet still serves it, also where somebody deletes the claim
  const kept = each.world.claims
    .ofService(each.key)
    .filter((claim) => isHeld(claim) && includes(each.service.ingress, claim.address))
    .map(({ address }) => address);
  const { ingress, familyPolicy } = each.service;
  // who requires both families is told of none before it has both
  const isAllOrNothing = familyPolicy === 'RequireDualStack' && needed.length > 0;
  const own = decision.grants
    .map(grantedAddress)
    .filter((address) => !isAllOrNothing || includes(ingress, address));
  return {
    ...base,
    kind: kindOf(grants, needed),
    leave,
    ingress: unique([...own, ...decision.covered, ...kept]),
    verdict:
      warnedOf(each, decision.grants) ??
      verdictOf(decision.grants, decision.problems, decision.covered),
  };
}

/** for an event: an address that was shared is no longer its own */
function leaving(each: Case): readonly string[] {
  return each.world.claims.ofService(each.key).flatMap((claim) => whyLeft(each, claim) ?? []);
}

/**
 * Claims that name it and that it has no use for. One of the same name that is gone leaves at once, and so does an address that was never
 * told to anybody; the Service gives nothing up that serves it before it has what it wants instead.
 */
function claimsToLeave(
  each: Case,
  grants: readonly Grant[],
  isSatisfied: boolean,
): readonly ClaimRecord[] {
  const { key, service, world } = each;
  const granted = new AddressSet(grants.map(grantedAddress));
  const listed = isLocalUntold(service) ? [] : externalAddresses(service);
  const told = new AddressSet([...service.ingress, ...listed]);
  return world.claims
    .ofService(key)
    .filter(({ address }) => !granted.has(address))
    .filter(
      (claim) =>
        isSatisfied ||
        entryOf(claim, service) === undefined ||
        !told.has(claim.address) ||
        whyLeft(each, claim) !== undefined,
    );
}

function kindOf(grants: readonly Grant[], needed: readonly Problem[]): ServiceDecision['kind'] {
  const news = grants.filter(({ kind }) => kind !== 'keep');
  if (news.some((grant) => grant.kind === 'create' && grant.isAdopted)) return 'adopt';
  if (news.length > 0) return 'allocate';
  return mostTelling(needed)?.kind ?? 'ready';
}

/** A refusal is told before a wait: it needs somebody to act. */
function mostTelling(problems: readonly Problem[]): Problem | undefined {
  return problems.find(({ kind }) => kind === 'refused') ?? problems[0];
}

function verdictOf(
  grants: readonly Grant[],
  problems: readonly Problem[],
  covered: readonly Address[],
): Verdict {
  const has = [...grants.map(describe), ...covered.map(formatAddress)].join(', ');
  const needed = problems.filter(({ isOptional }) => isOptional !== true);
  const worst = mostTelling(needed);
  if (worst !== undefined) {
    const why = needed.map(({ message }) => message).join('; ');
    const message = has === '' ? why : `${why}; until then it has ${has}`;
    return { status: 'False', reason: worst.reason, message };
  }
  const warnings = grants.flatMap((grant) => (grant.kind === 'keep' ? (grant.warning ?? []) : []));
  const [first] = warnings;
  if (first !== undefined) {
    const message = [has, ...warnings.map((warning) => warning.message)].join('; ');
    return { status: 'True', reason: first.reason, message };
  }
  const missing = problems.map(({ message }) => `; ${message}`).join('');
  return { status: 'True', reason: 'Allocated', message: `${has}${missing}` };
}

/**
 * Whoever may edit a Service draws the traffic of any address by writing it into spec.externalIPs (CVE-2020-8554): nobody can prevent that here,
 * but the one that has the address is told.
 */
function warnedOf(each: Case, grants: readonly Grant[]): Verdict | undefined {
  const { key, service, world } = each;
  for (const grant of grants) {
    if (grant.kind !== 'keep') continue;
    const { claim } = grant;
    const members = new Set(claim.services.map(serviceKey));
    const other = firstBut(world.listersOf(claim.address), (by) => by === key || members.has(by));
    if (other === undefined) continue;
    const whose = nameOfKey(service, other);
    const what = `${formatAddress(claim.address)} is listed in spec.externalIPs of ${whose}, which gets traffic of this address`;
    const how = 'have it taken out there, or forbid it by the component deny-external-ips';
    return { status: 'True', reason: 'ListedByOther', message: `${what}; ${how}` };
  }
  return undefined;
}

/** without a look at all: there may be thousands */
function firstBut(keys: Iterable<string>, isNone: (key: string) => boolean): string | undefined {
  for (const key of keys) if (!isNone(key)) return key;
  return undefined;
}

function describe(grant: Grant): string {
  const text = formatAddress(grantedAddress(grant));
  const pool = grant.kind === 'create' ? grant.pool : grant.claim.pool;
  return pool === undefined ? text : `${text} from pool ${pool}`;
}

function united(first: readonly Grant[], second: readonly Grant[]): readonly Grant[] {
  const known = new AddressSet(first.map(grantedAddress));
  return [...first, ...second.filter((grant) => !known.has(grantedAddress(grant)))];
}
