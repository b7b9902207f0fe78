/** Whether the pool that a claim was made from holds it still, as the condition InPool of the claim. Pure. */

import type { AddressBook } from '../allocator/address-book.ts';
import { type ClaimRecord, isHandMade } from '../allocator/claim-record.ts';
import type { PoolChoice } from '../allocator/pool-choice.ts';
import type { Condition } from '../model/service.ts';
import type { WantedCondition } from './conditions.ts';

const IN_POOL = 'InPool';

export interface KnownPools {
  readonly pools: Pick<PoolChoice, 'byName' | 'refused'>;
  readonly book: Pick<AddressBook, 'poolOf'>;
}

export function isOutside(claim: ClaimRecord, { book }: Pick<KnownPools, 'book'>): boolean {
  if (claim.pool === undefined || isHandMade(claim)) return false;
  return book.poolOf(claim.address)?.name !== claim.pool;
}

export function inPool(claim: ClaimRecord, known: KnownPools): WantedCondition {
  const type = IN_POOL;
  if (!isOutside(claim, known)) {
    return { type, status: 'True', reason: 'Held', message: `pool ${claim.pool} holds it` };
  }
  const { reason, why } = whyOutside(claim.pool ?? '', known);
  const message = `${why}; it is kept, and given to nobody else`;
  return { type, status: 'False', reason, message };
}

function whyOutside(
  pool: string,
  { pools }: KnownPools,
): { readonly reason: string; readonly why: string } {
  const refused = pools.refused.get(pool);
  // it is there, and as soon as somebody has put it right it holds its claims again
  if (refused !== undefined) {
    return { reason: 'PoolRefused', why: `pool ${pool} is refused (${refused})` };
  }
  if (!pools.byName.has(pool))
    return { reason: 'PoolGone', why: `there is no pool ${pool} any more` };
  return { reason: 'PoolShrunk', why: `pool ${pool} does not hold it any more` };
}

/** Held is worth a word only to a claim that was told otherwise. */
export function isToldOf(conditions: readonly Condition[], wanted: WantedCondition): boolean {
  const told = conditions.find(({ type }) => type === wanted.type);
  if (wanted.status === 'True') return told?.status !== 'False';
  return told?.status === 'False' && told.reason === wanted.reason;
}
