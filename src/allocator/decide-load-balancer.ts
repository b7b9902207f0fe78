/**
 * Which addresses a load balancer of ours has, gets and gives up. Pure.
 *
 * What it asks for by name it gets by name; for each family that it names nothing of it gets one address. What stands is kept: nothing
 * that another would like better moves it.
 */

import { type Address, type Family, formatAddress } from 'bgp-ts';
import { type ClaimRecord, entryOf, othersOn, SHARE_KEY } from './claim-record.ts';
import { askForAddress, isStanding, kept, refused, standingClaims } from './decide-address.ts';
import { includes } from './decide-external.ts';
import { newAddress } from './decide-new.ts';
import {
  ALLOCATED_CONDITION,
  type Answer,
  type Case,
  type Grant,
  grantedAddress,
  isGrant,
  type Problem,
} from './decision.ts';
import { limited } from './limits.ts';
import { externalAddresses } from './service-request.ts';

export interface LoadBalancerDecision {
  readonly grants: readonly Grant[];
  /** addresses that its externalIPs have given it already, and that serve it here as well */
  readonly covered: readonly Address[];
  readonly problems: readonly Problem[];
  /** an address in its status that we neither wrote nor can take over (yet): nothing of it is touched */
  readonly foreign?: Problem;
}

/** `external`: addresses that are claimed for its externalIPs */
export function decideLoadBalancer(each: Case, external: readonly Address[]): LoadBalancerDecision {
  const { fault } = each.request;
  const asked = fault === undefined ? answered(each, external) : unreadable(each, fault);
  const { covered, problems } = asked;
  const isServed = problems.every(({ isOptional }) => isOptional === true);
  const grants = isServed ? asked.grants : [...asked.grants, ...toldOnes(each, asked.grants)];
  const granted = [...grants.map(grantedAddress), ...covered];
  const foreign = foreignIngress(each, granted, isServed);
  if (foreign === undefined) return { grants, covered, problems };
  // it takes no place in the line for a pool, but is looked at again when an address that it wants changes hands
  const about = [foreign, ...problems].filter(({ address }) => address !== undefined);
  return { grants: standing(each), covered, problems: about, foreign };
}

type Asked = Omit<LoadBalancerDecision, 'foreign'>;

function answered(each: Case, external: readonly Address[]): Asked {
  const answers = each.request.addresses.map((address) => wanted(each, address));
  const covered: Address[] = [];
  for (const family of familiesLeft(each, answers)) {
    for (const answer of anyAddress(each, family, external)) {
      if (isAddress(answer)) covered.push(answer);
      else answers.push(answer);
    }
  }
  const within = limited(each, answers, { external });
  const grants = within.filter(isGrant);
  const problems = within.filter((answer) => !isGrant(answer));
  return { covered, ...byFamilyPolicy(each, { grants, problems, covered }) };
}

function unreadable(each: Case, fault: string): Asked {
  return { grants: standing(each), covered: [], problems: [refused('BadRequest', fault)] };
}

/** What its status says serves it until it has what it wants, so that is claimed too, whoever wrote it. */
function toldOnes(each: Case, grants: readonly Grant[]): readonly Grant[] {
  const { families, ingress } = each.service;
  const granted = grants.map(grantedAddress);
  return ingress
    .filter((address) => families.includes(address.family) && !includes(granted, address))
    .map((address) => askForAddress(each, address, 'adopt'))
    .filter(isGrant);
}

/** those of which it names no address; none where it names one that it cannot have at all */
function familiesLeft({ request, service }: Case, answers: readonly Answer[]): readonly Family[] {
  const isWrong = answers.some((answer) => !isGrant(answer) && answer.reason === 'WrongFamily');
  if (isWrong) return [];
  const named = request.addresses.map(({ family }) => family);
  return service.families.filter((family) => !named.includes(family));
}

function isAddress(answer: Answer | Address): answer is Address {
  return 'family' in answer;
}

function wanted(each: Case, address: Address): Answer {
  const { families, ingress } = each.service;
  if (families.includes(address.family)) {
    return askForAddress(each, address, includes(ingress, address) ? 'adopt' : 'request');
  }
  const why = `${formatAddress(address)} is of a family that spec.ipFamilies (${families.join(', ')}) does not have`;
  return refused('WrongFamily', `${why}; ask for another address, or add the family`, address);
}

function standing(each: Case): readonly Grant[] {
  return standingClaims(each).map(kept);
}

/** Of a family of which it names none: what it has, else what its status says, else one. */
function anyAddress(
  each: Case,
  family: Family,
  external: readonly Address[],
): readonly (Answer | Address)[] {
  const { service } = each;
  const kept = keptOnes(each, family, external);
  const told = service.ingress
    .filter((address) => address.family === family && !includes(external, address))
    .map((address) => askForAddress(each, address, 'adopt'));
  const adopted = told.filter((answer) => isGrant(answer) && answer.kind !== 'keep');
  if (kept.length + adopted.length > 0) {
    return [...kept.map(({ address }) => askForAddress(each, address, 'request')), ...adopted];
  }
  // somebody deletes its claim, which a finalizer holds: it is claimed again after that, and no other address takes its place
  const leaving = told.filter((answer) => isLeaving(each, answer));
  if (leaving.length > 0) return leaving;
  const own = external.find((address) => address.family === family);
  return [own ?? newAddress(each, family, 'load-balancer')];
}

function isLeaving({ service, world }: Case, answer: Answer): boolean {
  if (isGrant(answer) || answer.kind !== 'waiting' || answer.address === undefined) return false;
  const claim = world.claims.at(answer.address);
  return claim?.isBeingDeleted === true && entryOf(claim, service) !== undefined;
}

/** All that are in its status, else the oldest: two controllers that gave it one each come to the same. */
function keptOnes(
  each: Case,
  family: Family,
  external: readonly Address[],
): readonly ClaimRecord[] {
  const { service } = each;
  const fitting = standingClaims(each)
    .filter((claim) => claim.address.family === family)
    .filter((claim) => !includes(external, claim.address) && stillFits(each, claim));
  const told = fitting.filter(({ address }) => includes(service.ingress, address));
  return told.length > 0 ? told : fitting.slice(0, 1);
}

/** A pool that it no longer names and a word that it no longer shares are changes that it asked for; all else keeps the address. */
function stillFits({ key, request, world }: Case, claim: ClaimRecord): boolean {
  const pool = claim.pool ?? world.book.poolOf(claim.address)?.name;
  if (request.pools.length > 0 && (pool === undefined || !request.pools.includes(pool))) {
    return false;
  }
  return othersOn(claim, key).length === 0 || claim.annotations[SHARE_KEY] === request.shareKey;
}

/** RequireDualStack takes all or nothing new; PreferDualStack takes what there is. */
function byFamilyPolicy(
  { service }: Case,
  { grants, problems, covered }: Pick<LoadBalancerDecision, 'grants' | 'problems' | 'covered'>,
): Pick<LoadBalancerDecision, 'grants' | 'problems'> {
  if (problems.length === 0) return { grants, problems };
  if (service.familyPolicy === 'RequireDualStack') {
    return { grants: grants.filter(({ kind }) => kind === 'keep'), problems };
  }
  const hasSome = grants.length + covered.length > 0;
  if (service.familyPolicy !== 'PreferDualStack' || !hasSome) return { grants, problems };
  // what was asked for by name is not a matter of taste
  const soften = (problem: Problem) =>
    problem.address === undefined ? { ...problem, isOptional: true } : problem;
  return { grants, problems: problems.map(soften) };
}

/** The first address (or name) in its status that is not ours to replace. `isServed`: it has all that it needs */
function foreignIngress(
  each: Case,
  granted: readonly Address[],
  isServed: boolean,
): Problem | undefined {
  const { key, service, request, world } = each;
  if (service.hasForeignIngress) return notOurs('an entry that is no address');
  const claims = world.claims.ofService(key).filter((claim) => isStanding(claim, service));
  // with no claim left, what stands beside our own condition is what we wrote
  const isOurWriting =
    claims.length === 0 &&
    service.conditions.some(
      ({ type, status }) => type === ALLOCATED_CONDITION && status === 'True',
    );
  if (isOurWriting) return undefined;
  // what is claimed for its externalIPs says nothing of its status
  const listed = externalAddresses(service);
  const isKnown = claims.some(({ address }) => !includes(listed, address));
  const isReplaced = isKnown || (request.addresses.length > 0 && isServed);
  const foreign = service.ingress.find((address) => {
    if (includes(granted, address)) return false;
    const claim = world.claims.at(address);
    if (claim !== undefined && entryOf(claim, service) !== undefined) return false;
    return !(isReplaced && world.book.poolOf(address) !== undefined);
  });
  return foreign && notAdopted(each, foreign);
}

function notAdopted(each: Case, address: Address): Problem {
  const text = formatAddress(address);
  if (each.world.book.poolOf(address) === undefined) return notOurs(text, address);
  const answer = askForAddress(each, address, 'adopt');
  if (isGrant(answer)) return notOurs(text, address);
  // what ends by itself is told as what it is
  if (answer.kind === 'waiting') return answer;
  const what = `status.loadBalancer has ${text}, which Herald did not write and cannot take over`;
  return refused('OwnedByOther', `${what}: ${answer.message}`, address);
}

function notOurs(what: string, address?: Address): Problem {
  const whose = `status.loadBalancer has ${what}, which Herald did not write and which is in none of its pools`;
  const how = 'remove it there, or let its owner serve this Service';
  return refused('OwnedByOther', `${whose}; ${how}`, address);
}
