/** Lists of addresses as sets: what a tenant can make longer is looked through once, never once for each of its entries. Pure. */

import { type Address, addressKey } from 'bgp-ts';

export class AddressSet {
  readonly #keys: ReadonlySet<string>;

  constructor(addresses: Iterable<Address>) {
    this.#keys = new Set(Array.from(addresses, addressKey));
  }

  has(address: Address): boolean {
    return this.#keys.has(addressKey(address));
  }
}

/** each once, in the order in which they came */
export function unique(addresses: readonly Address[]): readonly Address[] {
  const byKey = new Map<string, Address>();
  for (const address of addresses) {
    const key = addressKey(address);
    if (!byKey.has(key)) byKey.set(key, address);
  }
  return byKey.size === addresses.length ? addresses : [...byKey.values()];
}
