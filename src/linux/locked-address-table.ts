/**
 * The kernel's addresses for whoever may turn out not to be the only agent: while another one holds the lock nothing is ours, nothing is
 * added and nothing removed. The lock is asked for again at each attempt, so the place of an agent that ends is taken.
 */

import { type Address, formatAddress } from 'bgp-ts';
import type { AddressLock } from './address-lock.ts';
import type { AddressTable, KernelAddress, Link, Outcome } from './address-table.ts';

export class LockedAddressTable implements AddressTable {
  readonly #table: AddressTable;
  readonly #take: () => AddressLock;
  #lock: AddressLock | undefined;
  #changes = 0;

  constructor(table: AddressTable, take: () => AddressLock) {
    this.#table = table;
    this.#take = take;
  }

  /** whose addresses they are, where that mattered and it is not us */
  get otherKeeper(): string | undefined {
    return this.#lock?.kind === 'taken' ? this.#lock.sentence : undefined;
  }

  /** grows with every change that was made here or that a subscriber was told of */
  get changes(): number {
    return this.#changes;
  }

  /** undefined: this process keeps what carries our marks; else who does */
  keeper(): string | undefined {
    return this.#problem();
  }

  /** undefined when the lock is ours, else why not */
  #problem(): string | undefined {
    if (this.#lock?.kind !== 'held') this.#lock = this.#take();
    return this.#lock.kind === 'held' ? undefined : this.#lock.sentence;
  }

  list(): readonly KernelAddress[] {
    const present = this.#table.list();
    if (!present.some(({ ours }) => ours) || this.#problem() === undefined) return present;
    return present.map((known) => ({ ...known, ours: false }));
  }

  links(): readonly Link[] {
    return this.#table.links();
  }

  add(address: Address, interfaceName: string): Outcome {
    const problem = this.#problem();
    this.#changes += 1;
    if (problem === undefined) return this.#table.add(address, interfaceName);
    const sentence = `cannot add ${formatAddress(address)} to ${interfaceName}: ${problem}`;
    return { kind: 'not-permitted', sentence };
  }

  remove(address: Address, interfaceName: string): Outcome {
    const problem = this.#problem();
    this.#changes += 1;
    if (problem === undefined) return this.#table.remove(address, interfaceName);
    const sentence = `cannot remove ${formatAddress(address)} from ${interfaceName}: ${problem}`;
    return { kind: 'not-permitted', sentence };
  }

  subscribe(onChange: () => void): () => void {
    return this.#table.subscribe(() => {
      this.#changes += 1;
      onChange();
    });
  }

  close(): void {
    this.#table.close();
    if (this.#lock?.kind === 'held') this.#lock.release();
  }
}
