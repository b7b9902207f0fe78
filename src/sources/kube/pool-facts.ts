/** What the object of a pool says beside its spec, and whether two choices of pools are one. Pure. */

import { READY_CONDITION } from '../../model/names.ts';
import type { PoolFacts, PoolsNow } from '../../model/pools-in-force.ts';
import type { KubeObject } from './api.ts';
import { convertConditions } from './convert-condition.ts';
import { part } from './loose-fields.ts';

export function poolFacts(object: KubeObject, isReadable: boolean): PoolFacts {
  const { uid, generation = 0, deletionTimestamp } = object.metadata;
  const conditions = convertConditions(part(object, 'status'));
  const ready = conditions.find(
    ({ type, observedGeneration }) => type === READY_CONDITION && observedGeneration === generation,
  );
  return {
    uid,
    generation,
    ready: ready?.status === 'True' ? 'true' : ready?.status === 'False' ? 'false' : 'unknown',
    isBeingDeleted: deletionTimestamp !== undefined,
    isReadable,
  };
}

/** of a pool that is in the ledger and not in the cache any more: about to leave the ledger too */
export const UNKNOWN_POOL: PoolFacts = {
  uid: '',
  generation: 0,
  ready: 'unknown',
  isBeingDeleted: true,
  isReadable: false,
};

export function isSamePools(a: PoolsNow, b: PoolsNow): boolean {
  const isSame = <T>(some: readonly T[], others: readonly T[]) =>
    some.length === others.length && some.every((each, index) => each === others[index]);
  const sentences = ({ faults }: PoolsNow) =>
    faults.map(({ sentence, keepsLastGood }) => `${sentence} ${keepsLastGood}`);
  return (
    isSame(a.pools, b.pools) &&
    isSame(a.conflicting, b.conflicting) &&
    isSame(sentences(a), sentences(b))
  );
}
