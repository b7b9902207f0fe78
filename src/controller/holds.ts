/**
 * Addresses that Services are about to get, and the sharing keys that they write under, from the
 * decision until the answer of the API. No I/O.
 */

import type { Address } from 'bgp-ts';
import type { ServiceRequest } from '../allocator/service-request.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { namespaceOf } from '../sources/kube/namespace-turns.ts';

export interface Hold {
  readonly addresses: readonly Address[];
  readonly word?: string;
  /** in the order in which they began */
  readonly number: number;
}

export class Holds {
  readonly #holds = new Map<string, Hold>();
  readonly #pools: () => readonly IpPool[];
  /** by Services that wait for a sharing key: the last hold that had begun when they began to wait */
  readonly #waitingSince = new Map<string, number>();
  #last = 0;

  constructor(pools: () => readonly IpPool[]) {
    this.#pools = pools;
  }

  set(key: string, addresses: readonly Address[], request: ServiceRequest | undefined): void {
    const word = request?.shareKey;
    this.#last += 1;
    this.#holds.set(key, { addresses, number: this.#last, ...(word !== undefined && { word }) });
  }

  /** It waits for a sharing key from here on, or does not any more. */
  wait(key: string, isWaiting: boolean): void {
    if (!isWaiting) this.#waitingSince.delete(key);
    else if (!this.#waitingSince.has(key)) this.#waitingSince.set(key, this.#last);
  }

  /** what was held; undefined: nothing was */
  take(key: string): Hold | undefined {
    const hold = this.#holds.get(key);
    this.#holds.delete(key);
    return hold;
  }

  *addressesOf(namespace: string): Iterable<Address> {
    for (const [key, { addresses }] of this.#holds) {
      if (namespaceOf(key) === namespace) yield* addresses;
    }
  }

  /**
   * A Service that this one may share with writes a claim under the same sharing key. Of other
   * namespaces those count that had begun when this one began to wait: hundreds of Services would
   * otherwise hold the key without a moment in between.
   */
  isShareBusy(word: string, key: string): boolean {
    const namespace = namespaceOf(key);
    const last = this.#waitingSince.get(key) ?? this.#last;
    return [...this.#holds].some(
      ([by, hold]) =>
        by !== key &&
        hold.word === word &&
        this.mayShare(by, key) &&
        (hold.number <= last || namespaceOf(by) === namespace),
    );
  }

  /** Another namespace with the same sharing key is in nobody's way where no pool lets the two share. */
  mayShare(one: string, other: string): boolean {
    const [a, b] = [namespaceOf(one), namespaceOf(other)];
    if (a === b) return true;
    return this.#pools().some(
      ({ shareAcross }) => shareAcross.includes(a) && shareAcross.includes(b),
    );
  }
}
