/**
 * The pool of a claim as the controller goes by it, and for an address that outlives its pool the last form of that. What a controller that has started
 * since never knew is as plain as can be: agents, which do know it, say what they make of it. No I/O.
 */

import { outlivesPool, unknownPool } from '../model/former-pools.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { poolHolds } from '../model/pool-addresses.ts';
import type { CachedDocument } from './cached-document.ts';
import { isRefused } from './pool-register.ts';

type Pools = Iterable<CachedDocument<IpPool>>;

export class LastPools {
  readonly #forms = new Map<string, IpPool>();

  /** A claim keeps the pool that it names, also when the pool has shrunk; one that names none has whichever holds it. */
  of(claim: IpClaim, pools: Pools): IpPool | undefined {
    for (const pool of pools) {
      if (!pool.ok) continue;
      const { object } = pool;
      const isIts =
        claim.pool === undefined ? poolHolds(object, claim.address) : claim.pool === object.name;
      // what a Service was given out of it stays; what a person claims stands by pools that are in force
      if (!isIts || (isRefused(pool) && !outlivesPool(claim))) continue;
      if (claim.pool !== undefined) this.#forms.set(claim.pool, object);
      return object;
    }
    if (claim.pool === undefined || !outlivesPool(claim)) return undefined;
    return this.#forms.get(claim.pool) ?? unknownPool(claim);
  }
}
