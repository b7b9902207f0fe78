/** A new address of one family for a Service that names none: beside those of its sharing word, or the lowest free one of a pool. Pure. */

import type { Family } from 'bgp-ts';
import type { IpPool } from '../model/ip-pool.ts';
import { AUTO_EXTERNAL, type ClaimRecord, releasedBy } from './claim-record.ts';
import { notAllowed } from './decide-address.ts';
import type { Answer, Case, Grant, Problem } from './decision.ts';
import { atLimit, isAtLimit, isBeyondLimit } from './limits.ts';
import { notForService } from './pool-choice.ts';
import { whyNotShared } from './sharing.ts';

/** `external`: from pools with allowExternalIPs only, and written into spec.externalIPs */
export type Purpose = 'load-balancer' | 'external';

const NAME: Readonly<Record<Family, string>> = { ipv4: 'IPv4', ipv6: 'IPv6' };

export function newAddress(each: Case, family: Family, purpose: Purpose): Answer {
  const shared = purpose === 'load-balancer' ? beside(each, family) : undefined;
  if (shared !== undefined) return shared;
  const { fitting, misfits } = candidates(each, family, purpose);
  const open = fitting.filter((pool) => !isAtLimit(each, pool));
  for (const { name } of open) {
    const grant = lowestOf(each, name, family, purpose);
    if (grant !== undefined) return grant;
  }
  if (open.length > 0) return exhausted(open, family);
  const [limit] = fitting;
  if (limit === undefined) return noPool(each, family, misfits);
  const former = purpose === 'load-balancer' ? formerOf(each, family, fitting) : undefined;
  return former ?? atLimit(each, limit);
}

/**
 * What a Service of the same name gave back, and what its namespace is still counted with: a Service that is made again takes it back at once, and
 * waits for no node to confirm that it has withdrawn the address.
 */
function formerOf(
  { key, service, world }: Case,
  family: Family,
  pools: readonly IpPool[],
): Grant | undefined {
  for (const claim of world.claims.ofNamespace(service.namespace)) {
    if (releasedBy(claim) !== key || claim.isBeingDeleted) continue;
    if (claim.address.family !== family || AUTO_EXTERNAL in claim.annotations) continue;
    const pool = world.book.poolOf(claim.address);
    if (pools.some(({ name }) => name === pool?.name)) return { kind: 'join', claim };
  }
  return undefined;
}

/** A claim of the same word that has room; or word that one is being written. */
function beside(each: Case, family: Family): Answer | undefined {
  const { key, request, world } = each;
  const { shareKey } = request;
  if (shareKey === undefined) return undefined;
  const claim = world.claims
    .sharedAs(shareKey)
    .find((other) => other.address.family === family && hasRoomFor(other, each));
  if (claim !== undefined) return { kind: 'join', claim };
  if (!world.isShareBusy(shareKey, key)) return undefined;
  const message = `an address for the sharing word '${shareKey}' is being written`;
  return { kind: 'waiting', reason: 'AddressTaken', message, shareKey };
}

function hasRoomFor(claim: ClaimRecord, each: Case): boolean {
  const { service, world, compared } = each;
  if (claim.isBeingDeleted || claim.fault !== undefined || claim.services.length === 0)
    return false;
  if (notAllowed(each, claim.address, 'request') !== undefined) return false;
  const shareAcross = world.book.poolOf(claim.address)?.shareAcross ?? [];
  const rules = { shareAcross, service: world.service, compared };
  if (whyNotShared(service, claim, rules) !== undefined) return false;
  // last, since it counts all that the namespace has: a word may stand on thousands of claims that have no room
  return !isBeyondLimit(each, claim.address);
}

function lowestOf(
  { key, service, world }: Case,
  pool: string,
  family: Family,
  purpose: Purpose,
): Grant | undefined {
  const address = world.book.lowestFree(pool, family);
  if (address === undefined) return undefined;
  const who = { key, createdMs: world.waitsSince(service) };
  if (!world.waiting.leavesOver({ pool, family }, world.book.freeIn(pool, family), who)) {
    return undefined;
  }
  const isAutoExternal = purpose === 'external';
  return { kind: 'create', address, pool, isAdopted: false, isAutoExternal };
}

interface Candidates {
  readonly fitting: readonly IpPool[];
  /** why the others are none, each half a sentence */
  readonly misfits: readonly Misfit[];
}

interface Misfit {
  readonly kind: 'missing' | 'refused' | 'not-allowed' | 'no-family';
  readonly why: string;
}

function candidates(each: Case, family: Family, purpose: Purpose): Candidates {
  const fitting: IpPool[] = [];
  const misfits: Misfit[] = [];
  for (const pool of named(each, misfits)) {
    const misfit = misfitOf(each, { pool, family, purpose });
    if (misfit === undefined) fitting.push(pool);
    else misfits.push(misfit);
  }
  return { fitting, misfits };
}

/** those that it asks for in its own order, else all that assign by themselves */
function named({ request, world }: Case, misfits: Misfit[]): readonly IpPool[] {
  const { inOrder, byName, refused } = world.pools;
  if (request.pools.length === 0) return inOrder.filter(({ autoAssign }) => autoAssign);
  const pools: IpPool[] = [];
  for (const name of request.pools) {
    const pool = byName.get(name);
    if (pool !== undefined) pools.push(pool);
    else if (!refused.has(name)) {
      misfits.push({ kind: 'missing', why: `there is no pool ${name}` });
    } else {
      // the sentence itself may name another pool and its ranges, and that one need not be for this namespace
      misfits.push({ kind: 'refused', why: `pool ${name} cannot be used; its status says why` });
    }
  }
  return pools;
}

function misfitOf(
  { service, request, world }: Case,
  { pool, family, purpose }: { pool: IpPool; family: Family; purpose: Purpose },
): Misfit | undefined {
  const labels = world.namespaceLabels(service.namespace);
  const called = request.pools.includes(pool.name) ? undefined : 'a pool that assigns by itself';
  const why = notForService(pool, service, labels, called);
  if (why !== undefined) return { kind: 'not-allowed', why };
  if (purpose === 'external' && !pool.allowExternalIps) {
    return { kind: 'not-allowed', why: `pool ${pool.name} does not say allowExternalIPs` };
  }
  if (world.book.hasFamily(pool.name, family)) return undefined;
  return { kind: 'no-family', why: `pool ${pool.name} has no ${NAME[family]} addresses` };
}

function exhausted(fitting: readonly IpPool[], family: Family): Problem {
  const names = fitting.map(({ name }) => name);
  const which = names.length === 1 ? `pool ${names[0]} has` : `pools ${names.join(', ')} have`;
  return {
    kind: 'waiting',
    reason: 'PoolExhausted',
    message: `${which} no free ${NAME[family]} address; it is served when one frees up or the pool grows`,
    pools: names.map((pool) => ({ pool, family })),
  };
}

function noPool({ request, world }: Case, family: Family, misfits: readonly Misfit[]): Problem {
  // pools that are closed to its namespace all read the same
  const each = [...new Set(misfits.map(({ why }) => why))];
  const more = each.length > 5 ? [`${each.length - 5} more`] : [];
  const whys = [...each.slice(0, 5), ...more].join('; ');
  if (request.pools.length > 0) {
    const isMissing = misfits.some(({ kind }) => kind === 'missing');
    if (isMissing) return { kind: 'waiting', reason: 'PoolNotFound', message: whys };
    const isRefused = misfits.some(({ kind }) => kind === 'refused');
    if (isRefused) return { kind: 'waiting', reason: 'PoolRefused', message: whys };
    return { kind: 'refused', reason: 'PoolNotAllowed', message: whys };
  }
  if (world.pools.inOrder.length === 0) {
    const message = 'there is no pool to take an address from; create an IPPool';
    return { kind: 'waiting', reason: 'NoPool', message };
  }
  const why = whys === '' ? 'none assigns by itself, so ask for a pool or an address' : whys;
  const message = `no pool gives this Service an ${NAME[family]} address: ${why}`;
  return { kind: 'waiting', reason: 'NoPoolForService', message };
}
