/**
 * Whether a Service may have one particular address: because it asks for it, because it has it in its status, or because it lists it
 * in spec.externalIPs. Pure.
 */

import { type Address, formatAddress } from 'bgp-ts';
import { ANNOTATION } from '../model/names.ts';
import { type Service, serviceKey } from '../model/service.ts';
import type { Holder } from './address-book.ts';
import {
  type ClaimRecord,
  entryOf,
  isHandMade,
  othersOn,
  releasedBy,
  SHARE_KEY,
} from './claim-record.ts';
import type { Answer, Case, Grant, Problem, Reason } from './decision.ts';
import { notForService } from './pool-choice.ts';
import { nameFor, type Standing, standingBeside, whyNotShared } from './sharing.ts';

export type Occasion = 'request' | 'adopt' | 'external';

export function askForAddress(each: Case, address: Address, occasion: Occasion): Answer {
  const claim = each.world.claims.at(address);
  if (claim !== undefined && isStanding(claim, each.service)) return keep(each, claim);
  const why = notAllowed(each, address, occasion);
  if (why !== undefined) return why;
  if (claim === undefined) return unclaimed(each, address, occasion);
  return claimed(each, claim, occasion);
}

/** the claim names exactly this Service, and is there to stay */
export function isStanding(claim: ClaimRecord, service: Service): boolean {
  return !claim.isBeingDeleted && entryOf(claim, service) !== undefined;
}

/** What stands is kept: an address does not change while its claim lives, unless the Service breaks the rules of sharing. */
function keep(each: Case, claim: ClaimRecord): Answer {
  const standing = sharedStanding(each, claim);
  if (standing === undefined) return kept(claim);
  const why = `${formatAddress(claim.address)} ${standing.why}`;
  if (standing.kind === 'leaves') return refused('ShareConflict', why, claim.address);
  return { kind: 'keep', claim, warning: { reason: 'ShareConflict', message: why } };
}

/** A claim that cannot be used as a whole still is the Service's: another address would leave this one announced, and to nobody. */
export function kept(claim: ClaimRecord): Grant {
  const { name, fault } = claim;
  if (fault === undefined) return { kind: 'keep', claim };
  const what = `IPClaim ${name} cannot be read (${fault})`;
  const message = `${what}: nodes go by its last good form, and it stays on the nodes that it is on; put it right`;
  return { kind: 'keep', claim, warning: { reason: 'ClaimUnreadable', message } };
}

function sharedStanding({ service, world, compared }: Case, claim: ClaimRecord): Standing {
  if (claim.services.length < 2) return undefined;
  const shareAcross = world.book.poolOf(claim.address)?.shareAcross ?? [];
  return standingBeside(service, claim, { shareAcross, service: world.service, compared });
}

/** It names the Service, which has to leave it: traffic of others would go wrong. The sentence that says why. */
export function whyLeft(each: Case, claim: ClaimRecord): string | undefined {
  if (!isStanding(claim, each.service)) return undefined;
  const standing = sharedStanding(each, claim);
  if (standing?.kind !== 'leaves') return undefined;
  return `it leaves ${formatAddress(claim.address)}, which ${standing.why}`;
}

/** claims that name exactly this Service, and that it may stay in */
export function standingClaims(each: Case): readonly ClaimRecord[] {
  const { key, service, world } = each;
  const claims = world.claims.ofService(key);
  return claims.filter((claim) => isStanding(claim, service) && whyLeft(each, claim) === undefined);
}

/** Why no Service like this may have the address, whoever has it now. */
export function notAllowed(
  { service, request, world }: Case,
  address: Address,
  occasion: Occasion,
): Problem | undefined {
  const text = formatAddress(address);
  const pool = world.book.poolOf(address);
  if (pool === undefined) {
    const how = 'add it to a pool, or ask for another address';
    return refused('AddressNotInPool', `${text} is in no pool that gives it out; ${how}`, address);
  }
  const labels = world.namespaceLabels(service.namespace);
  const called = request.pools.includes(pool.name) ? undefined : 'its pool';
  const why = notForService(pool, service, labels, called);
  if (why !== undefined) {
    const how = 'ask for another address, or change the pool';
    return refused('PoolNotAllowed', `${text} cannot be used: ${why}; ${how}`, address);
  }
  if (request.pools.length > 0 && occasion !== 'external' && !request.pools.includes(pool.name)) {
    const wanted = `the annotation ${ANNOTATION.pool} names ${request.pools.join(', ')}`;
    const why = `${text} is in pool ${pool.name}, but ${wanted}; change one of the two`;
    return refused('AddressNotInPool', why, address);
  }
  if (occasion === 'external' && !pool.allowExternalIps) {
    const why = `${text} of spec.externalIPs is not announced: pool ${pool.name} does not say allowExternalIPs`;
    return refused('ExternalIPNotAllowed', why, address);
  }
  return undefined;
}

function unclaimed({ key, service, world }: Case, address: Address, occasion: Occasion): Answer {
  const text = formatAddress(address);
  const pool = world.book.poolOf(address)?.name ?? '';
  const deleted = world.deletedAt(address);
  const isTakenBack = deleted !== undefined && hadIt(deleted, key);
  const kinds = IN_THE_WAY[occasion].filter((kind) => kind !== 'deleted' || !isTakenBack);
  const holder = world.book.otherThan(key, address, kinds);
  if (holder === undefined) {
    const isAdopted = occasion === 'adopt';
    return { kind: 'create', address, pool, isAdopted, isAutoExternal: false };
  }
  if (holder.kind === 'writing') {
    const message = `${text} is being given to ${nameOfKey(service, holder.by)}`;
    return { kind: 'waiting', reason: 'AddressTaken', message, address };
  }
  if (holder.kind === 'node') {
    const why = `${text} is an address of node ${holder.by}, whose own traffic a route to it would take; ask for another address`;
    return refused('AddressTaken', why, address);
  }
  if (holder.kind === 'deleted') {
    const message = `the claim of ${text} was deleted, and it is free as soon as every node has let go of it`;
    return { kind: 'waiting', reason: 'AddressQuarantined', message, address };
  }
  const where = holder.kind === 'ingress' ? 'status' : 'spec.externalIPs';
  const message = `${text} is in ${where} of ${nameOfKey(service, holder.by)}; ask for another address`;
  return refused('AddressTaken', message, address);
}

/**
 * What nodes announce is its own: it waits for nobody. One of the same name counts, as for what was
 * given back.
 */
function hadIt(claim: ClaimRecord, key: string): boolean {
  return releasedBy(claim) === key || claim.services.some((entry) => serviceKey(entry) === key);
}

/**
 * Services that wrote the same address by hand, or came with it from another balancer, are told apart by the claim: who has it first. What a Service
 * has in its status is not kept from it by a list, which anybody may write: its condition says who lists the address (decision 0069).
 */
const IN_THE_WAY: Readonly<Record<Occasion, readonly Holder['kind'][]>> = {
  request: ['writing', 'node', 'claim', 'deleted', 'ingress', 'external-ip'],
  adopt: ['writing', 'node', 'claim', 'deleted'],
  external: ['writing', 'node', 'claim', 'deleted', 'ingress'],
};

function claimed(each: Case, claim: ClaimRecord, occasion: Occasion): Answer {
  const { key, service, request, world, compared } = each;
  const { address } = claim;
  const text = formatAddress(address);
  const former = releasedBy(claim);
  if (former !== undefined && former !== key) {
    const message = `${text} was given back by ${nameOfKey(service, former)} and is free as soon as every node has let go of it`;
    return { kind: 'waiting', reason: 'AddressQuarantined', message, address };
  }
  if (claim.isBeingDeleted) {
    const message = `the claim of ${text} is being deleted`;
    return { kind: 'waiting', reason: 'AddressTaken', message, address };
  }
  if (former === key) return { kind: 'join', claim };
  if (isHandMade(claim)) {
    const message = `${text} has a claim that was made by hand; ask for another address, or delete IPClaim ${claim.name}`;
    return refused('AddressTaken', message, address);
  }
  const others = othersOn(claim, key);
  if (others.length > 0 && claim.fault !== undefined) {
    const message = `IPClaim ${claim.name} cannot be read (${claim.fault}), so nobody joins it; put it right, or ask for another address`;
    return refused('ClaimUnreadable', message, address);
  }
  // only one of the same name that is gone: the address was asked for by name, so it comes back
  if (others.length === 0) return { kind: 'join', claim };
  const isOfOneWord =
    request.shareKey !== undefined && claim.annotations[SHARE_KEY] === request.shareKey;
  if (occasion !== 'external' && !isOfOneWord) {
    const names = [...new Set(others.map((entry) => nameFor(service, entry)))].join(', ');
    const how = `ask for another address, or give both the same annotation ${ANNOTATION.share}`;
    return refused('AddressTaken', `${text} belongs to ${names}; ${how}`, address);
  }
  const shareAcross = world.book.poolOf(address)?.shareAcross ?? [];
  const why = whyNotShared(service, claim, { shareAcross, service: world.service, compared });
  return why === undefined
    ? { kind: 'join', claim }
    : refused('ShareConflict', `${text} ${why}`, address);
}

export function nameOfKey(service: Service, key: string): string {
  const [namespace = '', name = ''] = key.split('/');
  return nameFor(service, { namespace, name });
}

export function refused(reason: Reason, message: string, address?: Address): Problem {
  return { kind: 'refused', reason, message, ...(address !== undefined && { address }) };
}
