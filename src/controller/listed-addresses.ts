/**
 * What Services list in spec.externalIPs: who lists an address, and for whom it is reserved, which changes with pools and namespaces. An index over
 * the cache of Services; it decides nothing.
 */

import { type Address, addressKey } from 'bgp-ts';
import { externalAddresses } from '../allocator/service-request.ts';
import type { Service } from '../model/service.ts';

export interface ListedOptions {
  readonly reservedFor: (service: Service) => readonly Address[];
  readonly take: (address: Address, by: string) => void;
  readonly release: (address: Address, by: string) => void;
  /** somebody began to list it, or ceased to */
  readonly touched: (address: Address, isListed: boolean) => void;
}

interface Lister {
  readonly service: Service;
  readonly listed: ReadonlyMap<string, Address>;
  readonly reserved: ReadonlyMap<string, Address>;
}

export class ListedAddresses {
  readonly #options: ListedOptions;
  readonly #listers = new Map<string, Lister>();
  readonly #byAddress = new Map<string, Set<string>>();

  constructor(options: ListedOptions) {
    this.#options = options;
  }

  listersOf(address: Address): Iterable<string> {
    return this.#byAddress.get(addressKey(address)) ?? [];
  }

  change(key: string, service: Service | undefined): void {
    const before = this.#listers.get(key);
    if (service === undefined || service.externalIps.length === 0) {
      if (before !== undefined) this.#replace(key, before, undefined);
      return;
    }
    const listed = byKey(externalAddresses(service));
    const reserved = byKey(this.#options.reservedFor(service));
    this.#replace(key, before, { service, listed, reserved });
  }

  /** Pools have changed, or the labels of a namespace have. */
  again(namespace?: string): void {
    for (const [key, { service }] of this.#listers) {
      if (namespace === undefined || service.namespace === namespace) this.change(key, service);
    }
  }

  #replace(key: string, before: Lister | undefined, now: Lister | undefined): void {
    if (now === undefined) this.#listers.delete(key);
    else this.#listers.set(key, now);
    for (const [id, address] of now?.listed ?? []) this.#list(key, id, address);
    for (const [id, address] of before?.listed ?? []) {
      if (now?.listed.has(id) !== true) this.#unlist(key, id, address);
    }
    for (const address of now?.reserved.values() ?? []) this.#options.take(address, key);
    for (const [id, address] of before?.reserved ?? []) {
      if (now?.reserved.has(id) !== true) this.#options.release(address, key);
    }
  }

  #list(key: string, id: string, address: Address): void {
    const keys = this.#byAddress.get(id) ?? new Set();
    this.#byAddress.set(id, keys);
    if (keys.has(key)) return;
    keys.add(key);
    this.#options.touched(address, true);
  }

  #unlist(key: string, id: string, address: Address): void {
    const keys = this.#byAddress.get(id);
    keys?.delete(key);
    if (keys?.size === 0) this.#byAddress.delete(id);
    this.#options.touched(address, false);
  }
}

function byKey(addresses: readonly Address[]): ReadonlyMap<string, Address> {
  return new Map(addresses.map((address) => [addressKey(address), address]));
}
