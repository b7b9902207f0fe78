/**
 * The ranges of pools that are beside each other, in order, so that whether another one overlaps them is known without a look at each: of
 * ten thousand pools fifty million pairs took seconds of the thread that the BGP sessions are on.
 */

import { type Address, compareAddress, type Family } from 'bgp-ts';
import { rangesOverlap } from './address-range.ts';
import type { AddressRange, IpPool } from './ip-pool.ts';

interface Owned {
  readonly range: AddressRange;
  readonly pool: IpPool;
}

export class AcceptedRanges {
  /** none overlaps another, ascending */
  readonly #owned: Readonly<Record<Family, Owned[]>> = { ipv4: [], ipv6: [] };

  /** of a pool that overlaps none that is here, and whose own ranges do not overlap */
  add(pool: IpPool): void {
    for (const range of pool.ranges) {
      const { first } = range;
      this.#owned[first.family].splice(this.#after(first), 0, { range, pool });
    }
  }

  /** one that it overlaps: the last of them by address */
  overlapping(range: AddressRange): Owned | undefined {
    const { last } = range;
    const before = this.#owned[last.family][this.#after(last) - 1];
    return before !== undefined && rangesOverlap(before.range, range) ? before : undefined;
  }

  /** how many begin at this address or before it */
  #after(address: Address): number {
    const owned = this.#owned[address.family];
    let low = 0;
    let high = owned.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const first = owned[middle]?.range.first;
      if (first !== undefined && compareAddress(first, address) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
