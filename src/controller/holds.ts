/**
 * Addresses that Services are about to get, and the sharing keys that they write under, from the
 * decision until the answer of the API. No I/O.
 */

import type { Address } from 'bgp-ts';
import type { ServiceRequest } from '../allocator/service-request.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { splitKey } from '../sources/kube/object-key.ts';

export interface Hold {
  readonly addresses: readonly Address[];
  readonly word?: string;
  /** the Service names its addresses, so it waits for nobody under its sharing key */
  readonly isNamed: boolean;
}

export class Holds {
  readonly #holds = new Map<string, Hold>();
  readonly #pools: () => readonly IpPool[];

  constructor(pools: () => readonly IpPool[]) {
    this.#pools = pools;
  }

  set(key: string, addresses: readonly Address[], request: ServiceRequest | undefined): void {
    const isNamed = request !== undefined && request.addresses.length > 0;
    const word = request?.shareKey;
    this.#holds.set(key, { addresses, isNamed, ...(word !== undefined && { word }) });
  }

  /** what was held; undefined: nothing was */
  take(key: string): Hold | undefined {
    const hold = this.#holds.get(key);
    this.#holds.delete(key);
    return hold;
  }

  *addressesOf(namespace: string): Iterable<Address> {
    for (const [key, { addresses }] of this.#holds) {
      if (key.startsWith(`${namespace}/`)) yield* addresses;
    }
  }

  /**
   * A Service that this one may share with writes a claim under the same sharing key. Of other
   * namespaces those count that stand in this line themselves: Services that name their addresses
   * do not, and hundreds of them would hold the key without a moment in between.
   */
  isShareBusy(word: string, key: string): boolean {
    return [...this.#holds].some(
      ([by, hold]) =>
        by !== key &&
        hold.word === word &&
        this.mayShare(by, key) &&
        (!hold.isNamed || splitKey(by).namespace === splitKey(key).namespace),
    );
  }

  /** Another namespace with the same sharing key is in nobody's way where no pool lets the two share. */
  mayShare(one: string, other: string): boolean {
    const { namespace: a = '' } = splitKey(one);
    const { namespace: b = '' } = splitKey(other);
    if (a === b) return true;
    return this.#pools().some(
      ({ shareAcross }) => shareAcross.includes(a) && shareAcross.includes(b),
    );
  }
}
