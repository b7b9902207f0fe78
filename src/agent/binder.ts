/**
 * Keeps claimed addresses on their interfaces, and nothing else: adds before the route goes out, removes after it is gone, puts back
 * what was taken off by hand, cleans what a crash of ours left. Addresses that we did not add are never touched.
 *
 * What is on the machine is read from the kernel each time; nothing is remembered that the kernel knows.
 */

import { type Address, addressKey, formatAddress } from 'bgp-ts';
import type { AddressTable, KernelAddress } from '../linux/address-table.ts';
import { NetlinkError } from '../linux/netlink-calls.ts';
import type { Log } from '../log/log.ts';
import type { BindingWish } from './desired.ts';
import { NO_ADDRESSES, type OwnAddresses, ownAddresses } from './service-address.ts';
import type { BindingFact } from './view.ts';

const TELL_AGAIN_MS = 60_000;

export class Binder {
  readonly #table: AddressTable;
  readonly #log: Log;
  #facts: ReadonlyMap<string, BindingFact> = new Map();
  #own: OwnAddresses = NO_ADDRESSES;
  #problem: { readonly code: string; readonly sentence: string } | undefined;
  #told: { readonly code: string; readonly atMs: number } | undefined;
  /** something of ours may be on an interface: worth asking the kernel about */
  #mayHold = true;

  constructor(table: AddressTable, log: Log) {
    this.#table = table;
    this.#log = log;
  }

  /** by claim name, as of the last `ensure` */
  get facts(): ReadonlyMap<string, BindingFact> {
    return this.#facts;
  }

  /** why the kernel cannot be asked, for people; undefined: it can */
  get problem(): string | undefined {
    return this.#problem?.sentence;
  }

  /** the kernel could not be asked, or something is missing that no event may announce: try again soon */
  get isBehind(): boolean {
    return (
      this.#problem !== undefined || [...this.#facts.values()].some(({ kind }) => kind === 'absent')
    );
  }

  /** undefined: the kernel cannot be asked just now, which says nothing about what is there */
  #list(): readonly KernelAddress[] | undefined {
    return this.#ask(() => this.#table.list());
  }

  #ask<T>(question: () => T): T | undefined {
    try {
      const answer = question();
      this.#problem = undefined;
      return answer;
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      this.#isOutOfReach(error);
      return undefined;
    }
  }

  /** told once, and no more than once a minute where it comes and goes: it is asked again each second, for as long as it takes */
  #isOutOfReach({ code, message }: NetlinkError): void {
    if (this.#problem?.code === code) return;
    const unread = `the addresses of this machine cannot be read (${code})`;
    this.#problem = {
      code,
      sentence: `${unread}: no address can be bound and no discard route added until they can; all else is announced`,
    };
    const nowMs = performance.now();
    if (this.#told?.code === code && nowMs - this.#told.atMs < TELL_AGAIN_MS) return;
    this.#told = { code, atMs: nowMs };
    this.#log.warn('claim.bind', { code, reason: message }, 'no address can be bound');
  }

  /** For what no event may announce: true when the kernel has changed, or something could be added, since the last decision. */
  tryAgain(wishes: ReadonlyMap<string, BindingWish>): boolean {
    const { ownAddresses: own, hostAddresses: hosts } = this.#own;
    const now = this.ownAddresses();
    return this.ensure(wishes) || now.ownAddresses !== own || now.hostAddresses !== hosts;
  }

  /** Adds what is missing; true when a fact has changed. */
  ensure(wishes: ReadonlyMap<string, BindingWish>): boolean {
    if (wishes.size === 0 && this.#facts.size === 0) return false;
    const listed = this.#list();
    const present =
      listed && new Map(listed.map((known) => [placeKey(known.address, known.interface), known]));
    const facts = new Map<string, BindingFact>();
    for (const [name, wish] of wishes) {
      const fact = present === undefined ? this.#asBefore(name) : this.#ensureOne(wish, present);
      facts.set(name, fact);
    }
    const hasChanged = !sameFacts(this.#facts, facts);
    this.#facts = facts;
    return hasChanged;
  }

  /** a kernel that cannot be asked says nothing against what stood */
  #asBefore(name: string): BindingFact {
    const sentence = `the addresses of this machine cannot be read (${this.#problem?.code ?? ''})`;
    return this.#facts.get(name) ?? { kind: 'absent', sentence };
  }

  #ensureOne(wish: BindingWish, present: ReadonlyMap<string, KernelAddress>): BindingFact {
    const { address } = wish.claim;
    const there = present.get(placeKey(address, wish.interface));
    if (there !== undefined) {
      const whose = there.ours ? '' : ', where someone else put it and where it stays';
      return { kind: 'present', sentence: `it is on ${wish.interface}${whose}` };
    }
    const outcome = this.#table.add(address, wish.interface);
    if (outcome.kind === 'done') {
      this.#mayHold = true;
      this.#log.info(
        'claim.bind',
        { claim: wish.claim.name, interface: wish.interface },
        'address added',
      );
      return { kind: 'present', sentence: `it is on ${wish.interface}` };
    }
    return { kind: 'absent', sentence: outcome.sentence };
  }

  /** Takes off what is ours and not in `keep`. */
  release(keep: ReadonlyMap<string, BindingWish>): void {
    for (const known of this.#leftovers(keep)) {
      const outcome = this.#table.remove(known.address, known.interface);
      const fields = { claim: formatAddress(known.address), interface: known.interface };
      if (outcome.kind === 'done') this.#log.info('claim.bind', fields, 'address removed');
      else {
        const reason = outcome.sentence;
        this.#log.warn('claim.bind', { ...fields, reason }, 'address not removed');
      }
    }
  }

  /** true while something of ours is on an interface that `keep` does not ask for */
  hasLeftovers(keep: ReadonlyMap<string, BindingWish>): boolean {
    return this.#mayHold && this.#leftovers(keep).length > 0;
  }

  #leftovers(keep: ReadonlyMap<string, BindingWish>): readonly KernelAddress[] {
    const ours = this.#list()?.filter((known) => known.ours);
    if (ours === undefined) return [];
    this.#mayHold = ours.length > 0;
    const kept = new Set(
      [...keep.values()].map((wish) => placeKey(wish.claim.address, wish.interface)),
    );
    return ours.filter((known) => !kept.has(placeKey(known.address, known.interface)));
  }

  /** what this machine is reached by, which no claim may take */
  ownAddresses(): OwnAddresses {
    const look = () => ownAddresses(this.#table.list(), () => this.#table.links());
    const found = this.#ask(look);
    if (found !== undefined) this.#own = keptWhereSame(this.#own, found);
    return this.#own;
  }
}

/** What is the same stays the same object: decisions that stand on it count again. */
function keptWhereSame(before: OwnAddresses, now: OwnAddresses): OwnAddresses {
  return {
    ownAddresses: isSame(before.ownAddresses, now.ownAddresses)
      ? before.ownAddresses
      : now.ownAddresses,
    hostAddresses: isSame(before.hostAddresses, now.hostAddresses)
      ? before.hostAddresses
      : now.hostAddresses,
  };
}

function isSame(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...b].every(([key, value]) => a.get(key) === value);
}

function placeKey(address: Address, name: string): string {
  return `${name} ${addressKey(address)}`;
}

function sameFacts(
  a: ReadonlyMap<string, BindingFact>,
  b: ReadonlyMap<string, BindingFact>,
): boolean {
  if (a.size !== b.size) return false;
  return [...b].every(([name, fact]) => {
    const before = a.get(name);
    return before?.kind === fact.kind && before.sentence === fact.sentence;
  });
}
