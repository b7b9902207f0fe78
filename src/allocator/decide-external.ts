/**
 * What becomes of spec.externalIPs of a Service of any type, and of the annotation herald.dev/external-ip: auto. Pure.
 *
 * Whoever may edit a Service can write any address there (CVE-2020-8554), so only pools that say allowExternalIPs are announced.
 * What is written there is reserved where the Service could have the address: a pool that is closed to it loses nothing to it.
 */

import { type Address, addressEquals, type Family, formatAddress } from 'bgp-ts';
import { MOST_EXTERNAL_IPS, type Service, serviceKey } from '../model/service.ts';
import type { ClaimIndex } from './claim-index.ts';
import { AUTO_EXTERNAL, type ClaimRecord } from './claim-record.ts';
import { askForAddress, isStanding, kept, notAllowed, refused, whyLeft } from './decide-address.ts';
import { newAddress } from './decide-new.ts';
import {
  type Answer,
  type Case,
  type Grant,
  grantedAddress,
  isGrant,
  type Problem,
  type Reason,
  type World,
} from './decision.ts';
import { limited, MOST_LISTED } from './limits.ts';
import { notForService } from './pool-choice.ts';
import { externalAddresses, isLocalUntold } from './service-request.ts';

const LOCAL_NEEDS =
  'externalTrafficPolicy: Local needs type LoadBalancer, or no node can tell whether it has an endpoint; change one of the two';

export interface ExternalDecision {
  readonly grants: readonly Grant[];
  readonly add: readonly Address[];
  readonly drop: readonly Address[];
  readonly problems: readonly Problem[];
  /** of addresses that the user wrote: told by an event, they keep nothing else from being served */
  readonly warnings: readonly string[];
}

/** `isLoadBalancer`: it is one of ours, so it gets its one address that way and none on top for the annotation */
export function decideExternal(
  each: Case,
  { isLoadBalancer }: { readonly isLoadBalancer: boolean },
): ExternalDecision {
  const { service, request } = each;
  const mine = autoClaims(
    each,
    (claim) => whyLeft(each, claim) === undefined && notOpen(each, claim.address) === undefined,
  );
  const listed = externalAddresses(service);
  const unwanted = autoClaims(each, isStanding)
    .filter((claim) => !request.wantsExternal || !mine.includes(claim))
    .map(({ address }) => address);
  const drop = unwanted.filter((address) => includes(listed, address));
  const isBeyond = each.world.isListBeyond(service);
  const wanted = listed.filter(
    (address) => !includes(unwanted, address) && (!isBeyond || hasClaim(each, address)),
  );
  const grants: Grant[] = [];
  const problems: Problem[] = isBeyond ? [tooManyListed(service)] : [];
  const answers = wanted.map((address) => listedAddress(each, address));
  const beside = { kept: isLoadBalancer ? stillToGet(each, listed) : 0 };
  for (const answer of limited(each, answers, beside)) {
    if (isGrant(answer)) grants.push(answer);
    // an address outside every pool is no business of ours
    else if (answer.reason !== 'AddressNotInPool') problems.push(optionalOf(answer));
  }
  const warnings = problems.map(({ message }) => message);
  const isServed = grants.length > 0 || (isLoadBalancer && mine.length === 0);
  if (!request.wantsExternal || isServed) return { grants, add: [], drop, problems, warnings };
  const answer = autoAddress(each, mine);
  if (!isGrant(answer)) {
    return { grants, add: [], drop, problems: [...problems, answer], warnings };
  }
  const add = [grantedAddress(answer)];
  return { grants: [...grants, answer], add, drop, problems, warnings };
}

/** Addresses that a load balancer asks for and has not: its list must not take their places. */
function stillToGet(each: Case, listed: readonly Address[]): number {
  const { addresses } = each.request;
  const own = claimedAddresses(each.service, each.world.claims);
  const has = own.filter((address) => !includes(listed, address));
  const named = addresses.filter(
    (address) => !includes(own, address) && !includes(listed, address),
  );
  const isOpen = (family: Family) =>
    ![...addresses, ...has].some((address) => address.family === family);
  return named.length + each.service.families.filter(isOpen).length;
}

/** Where the pool does not allow it, it waits for the pool: who has the address may let go of it, and nothing has to be looked at. */
function optionalOf(problem: Problem): Problem {
  const { address: _, ...rest } = problem;
  const isForPool = NOT_ALLOWED.has(problem.reason);
  return { ...(isForPool ? rest : problem), isOptional: true };
}

const NOT_ALLOWED: ReadonlySet<Reason> = new Set(['ExternalIPNotAllowed', 'PoolNotAllowed']);

/** what stands is kept, whatever else its namespace lists */
function hasClaim({ service, world }: Case, address: Address): boolean {
  const claim = world.claims.at(address);
  return claim !== undefined && isStanding(claim, service);
}

function tooManyListed({ namespace }: Service): Problem {
  const why = `the Services of namespace ${namespace} list more than ${MOST_LISTED} external IPs of pools, of which Herald reads no more`;
  const message = `what is new in spec.externalIPs is neither reserved nor announced: ${why}; list fewer there`;
  return { ...refused('NamespaceLimit', message), isOptional: true };
}

function listedAddress(each: Case, address: Address): Answer {
  const answer = notOpen(each, address) ?? askForAddress(each, address, 'external');
  if (!isGrant(answer) || !isLocalUntold(each.service)) return answer;
  const what = `${formatAddress(address)} of spec.externalIPs is not announced`;
  return refused('ExternalIPNotAllowed', `${what}: ${LOCAL_NEEDS}`, address);
}

/**
 * The pool that has it allows no external IPs, perhaps no more: that is taken back from who has one, since whoever turns it off wants the routes
 * gone. Where no pool has the address what stands is kept, as every address of a Service is (decision 0020).
 */
function notOpen(each: Case, address: Address): Problem | undefined {
  const pool = each.world.book.poolOf(address);
  if (pool === undefined || pool.allowExternalIps) return undefined;
  return notAllowed(each, address, 'external');
}

/**
 * A user's own list names it, and does not keep it in the claim. What we wrote into the list leaves that first, and what is in the status of a load balancer
 * is no external IP: its pool need not allow any.
 */
export function isTakenBack(each: Case, { address, annotations }: ClaimRecord): boolean {
  if (annotations[AUTO_EXTERNAL] !== undefined || includes(each.service.ingress, address)) {
    return false;
  }
  return notOpen(each, address) !== undefined;
}

/** claims whose address we wrote into the list */
function autoClaims(
  { key, service, world }: Case,
  isWanted: (claim: ClaimRecord, service: Service) => boolean,
): readonly ClaimRecord[] {
  return world.claims
    .ofService(key)
    .filter((claim) => isStanding(claim, service) && claim.annotations[AUTO_EXTERNAL] !== undefined)
    .filter((claim) => isWanted(claim, service));
}

function autoAddress(each: Case, mine: readonly ClaimRecord[]): Grant | Problem {
  if (isLocalUntold(each.service)) return refused('ExternalIPNotAllowed', LOCAL_NEEDS);
  const [standing] = mine;
  if (standing !== undefined) return kept(standing);
  const { fault } = each.request;
  if (fault !== undefined) return refused('BadRequest', fault);
  if (each.service.moreExternalIps !== undefined) {
    const why = `spec.externalIPs lists more than ${MOST_EXTERNAL_IPS} addresses`;
    return refused('BadRequest', `${why}, so Herald writes none into it; shorten the list`);
  }
  const family = each.service.families[0] ?? 'ipv4';
  const answer = newAddress(each, family, 'external');
  // a Service that waits keeps the reason as it is: an address that is given back finds it by that
  if (isGrant(answer) || FOR_AN_ADDRESS.has(answer.reason)) return answer;
  const how = 'ask whoever keeps the pools for one with allowExternalIPs';
  const why = `no pool gives external IPs to this Service (${answer.message}); ${how}`;
  return { ...refused('ExternalIPNotAllowed', why) };
}

const FOR_AN_ADDRESS: ReadonlySet<Reason> = new Set(['PoolExhausted', 'NamespaceLimit']);

/** What nobody else is given because this Service lists it: nothing of pools that are closed to it, or that count what each namespace has. */
export function reservedAddresses(
  service: Service,
  { book, namespaceLabels }: Pick<World, 'book' | 'namespaceLabels'>,
  listed = externalAddresses(service),
): readonly Address[] {
  return listed.filter((address) => {
    const pool = book.poolOf(address);
    if (pool === undefined || pool.namespaces?.maxAddresses !== undefined) return false;
    return notForService(pool, service, namespaceLabels(service.namespace)) === undefined;
  });
}

/** of its claims, whatever they are for */
export function claimedAddresses(service: Service, claims: ClaimIndex): readonly Address[] {
  const own = claims.ofService(serviceKey(service));
  return own.filter((claim) => isStanding(claim, service)).map(({ address }) => address);
}

export function includes(addresses: readonly Address[], address: Address): boolean {
  return addresses.some((each) => addressEquals(each, address));
}
