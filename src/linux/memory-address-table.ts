/**
 * Addresses that only exist in memory: what the agent runs on in simulations, where time is a manual clock and faults come by the
 * thousand. It passes the same suite as the kernel's (test/compliance/address-table.ts). A `MemoryHost` is the machine and outlives
 * the tables on it, as a kernel outlives processes; what an administrator does by hand is done to the host.
 */

import { type Address, addressEquals, formatAddress } from 'bgp-ts';
import {
  ADDRESS_PROTOCOL,
  type AddressTable,
  hostLength,
  type KernelAddress,
  type Link,
  labelFor,
  type Outcome,
} from './address-table.ts';
import { foreignToAdd, foreignToRemove, noInterface } from './refusal.ts';

export class MemoryHost {
  #links: readonly Link[] = [];
  #addresses: readonly KernelAddress[] = [];
  #lastIndex = 0;
  readonly #listeners = new Set<() => void>();

  constructor(interfaces: readonly string[] = ['lo']) {
    for (const name of interfaces) this.addLink(name);
  }

  get links(): readonly Link[] {
    return this.#links;
  }

  get addresses(): readonly KernelAddress[] {
    return this.#addresses;
  }

  addLink(name: string, options: { hasArp?: boolean } = {}): void {
    const isLoopback = name === 'lo';
    this.#lastIndex += 1;
    const { hasArp = !isLoopback } = options;
    const link = { index: this.#lastIndex, name, isUp: true, isLoopback, hasArp };
    this.#links = [...this.#links, link];
    this.#tell();
  }

  /** With its addresses. */
  removeLink(name: string): void {
    this.#links = this.#links.filter((link) => link.name !== name);
    this.#addresses = this.#addresses.filter((each) => each.interface !== name);
    this.#tell();
  }

  /** As an administrator would, without a mark, unless one is given. */
  addAddress(
    address: Address,
    interfaceName: string,
    options: { prefixLength?: number; ours?: boolean } = {},
  ): void {
    const link = this.#links.find(({ name }) => name === interfaceName);
    if (link === undefined) throw new Error(`this host has no ${interfaceName}`);
    const { prefixLength = hostLength(address), ours = false } = options;
    const label = address.family === 'ipv4' && ours ? labelFor(interfaceName) : undefined;
    const added = {
      address,
      prefixLength,
      interface: interfaceName,
      index: link.index,
      flags: 0x80,
      ours,
      ...(label === undefined ? {} : { label }),
      ...(ours ? { protocol: ADDRESS_PROTOCOL } : {}),
    };
    this.#addresses = [...this.#addresses, added];
    this.#tell();
  }

  /** Whoever added it. */
  removeAddress(address: Address, interfaceName: string, prefixLength = hostLength(address)): void {
    this.#addresses = this.#addresses.filter(
      (each) =>
        each.interface !== interfaceName ||
        each.prefixLength !== prefixLength ||
        !addressEquals(each.address, address),
    );
    this.#tell();
  }

  listen(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    return () => this.#listeners.delete(onChange);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

export interface MemoryAddressTableOptions {
  readonly host: MemoryHost;
  /** Runs something later; the simulation gives its clock's. */
  readonly defer?: (run: () => void) => void;
}

export class MemoryAddressTable implements AddressTable {
  readonly #host: MemoryHost;
  readonly #defer: (run: () => void) => void;
  readonly #stops = new Set<() => void>();

  constructor({ host, defer = queueMicrotask }: MemoryAddressTableOptions) {
    this.#host = host;
    this.#defer = defer;
  }

  list(): readonly KernelAddress[] {
    return this.#host.addresses;
  }

  links(): readonly Link[] {
    return this.#host.links;
  }

  add(address: Address, interfaceName: string): Outcome {
    const doing = `cannot add ${formatAddress(address)} to ${interfaceName}`;
    if (!this.#host.links.some(({ name }) => name === interfaceName)) {
      return noInterface(doing, interfaceName);
    }
    const present = this.#host.addresses.filter((each) => addressEquals(each.address, address));
    const foreign = present.find((each) => !each.ours);
    if (foreign !== undefined) return foreignToAdd(foreign, interfaceName);
    if (present.some((each) => each.interface === interfaceName)) {
      return { kind: 'done', changed: false };
    }
    this.#host.addAddress(address, interfaceName, { ours: true });
    return { kind: 'done', changed: true };
  }

  remove(address: Address, interfaceName: string): Outcome {
    const here = this.#host.addresses.filter(
      (each) => each.interface === interfaceName && addressEquals(each.address, address),
    );
    const [foreign] = here.filter((each) => !each.ours);
    if (here.some((each) => each.ours)) {
      this.#host.removeAddress(address, interfaceName);
      return { kind: 'done', changed: true };
    }
    return foreign === undefined ? { kind: 'done', changed: false } : foreignToRemove(foreign);
  }

  subscribe(onChange: () => void): () => void {
    let isPending = false;
    let isStopped = false;
    const unlisten = this.#host.listen(() => {
      if (isPending) return;
      isPending = true;
      this.#defer(() => {
        isPending = false;
        if (!isStopped) onChange();
      });
    });
    const stop = () => {
      isStopped = true;
      unlisten();
      this.#stops.delete(stop);
    };
    this.#stops.add(stop);
    return stop;
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }
}
