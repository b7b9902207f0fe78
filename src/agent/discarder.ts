/**
 * Keeps the discard routes of aggregates in the kernel: each is there before its aggregate goes out, and is removed after the withdrawal has been written. What was removed
 * by hand is put back; where a route of somebody else appears at the place, or around it, ours goes, and host routes with it. A crash leaves ours in the kernel, and the
 * next start keeps what is wanted of them and removes the rest.
 */

import { formatPrefix, type Prefix, type PrefixKey } from 'bgp-ts';
import type { DiscardRoutes } from '../linux/discard-routes.ts';
import { NetlinkError } from '../linux/netlink-calls.ts';
import type { Log } from '../log/log.ts';
import type { DiscardFact, DiscardFacts } from './view.ts';

const PRESENT: DiscardFact = { kind: 'present' };

export class Discarder {
  readonly #routes: DiscardRoutes | undefined;
  readonly #log: Log;
  #facts: ReadonlyMap<PrefixKey, DiscardFact> = new Map();
  #wishes: ReadonlyMap<PrefixKey, Prefix> = new Map();
  /** the kernel may have changed since it was read last */
  #isDue = true;
  /** something of ours may be in the kernel */
  #mayHold = true;
  /** the kernel could not be asked the last time, and that has been told */
  #isOutOfReach = false;

  constructor(routes: DiscardRoutes | undefined, log: Log) {
    this.#routes = routes;
    this.#log = log;
  }

  /** undefined: this agent keeps none */
  get facts(): DiscardFacts | undefined {
    return this.#routes === undefined ? undefined : this.#facts;
  }

  /** True while there is something in the kernel that somebody could remove or put beside it. */
  get isBusy(): boolean {
    return this.#wishes.size > 0;
  }

  /** The next `ensure` reads the kernel again. */
  recheck(): void {
    this.#isDue = true;
  }

  /** Adds what is missing; true when a fact has changed. */
  ensure(wishes: ReadonlyMap<PrefixKey, Prefix>): boolean {
    const isSame = wishes.size === this.#wishes.size && hasAll(this.#wishes, wishes);
    this.#wishes = wishes;
    const routes = this.#routes;
    if (routes === undefined || (isSame && !this.#isDue) || wishes.size === 0) return false;
    const facts = this.#read(routes, [...wishes]);
    if (facts === undefined) return false;
    this.#isDue = false;
    if (hasSameFacts(this.#facts, facts)) return false;
    this.#facts = facts;
    return true;
  }

  /** Removes ours that are not in `keep`, and those that must not be there. */
  release(keep: ReadonlyMap<PrefixKey, Prefix>): void {
    for (const [key, prefix] of this.#leftovers(keep)) {
      const outcome = this.#routes?.remove(prefix);
      const fields = { prefix: formatPrefix(prefix) };
      if (outcome?.kind === 'done') {
        this.#log.info('aggregate.discard', fields, 'discard route removed');
        if (this.#facts.get(key)?.kind === 'present') this.#forget(key);
      } else {
        const reason = outcome?.sentence ?? '';
        this.#log.warn('aggregate.discard', { ...fields, reason }, 'discard route not removed');
      }
    }
  }

  hasLeftovers(keep: ReadonlyMap<PrefixKey, Prefix>): boolean {
    return this.#mayHold && this.#leftovers(keep).length > 0;
  }

  close(): void {
    this.#routes?.close();
  }

  #read(
    routes: DiscardRoutes,
    wishes: readonly (readonly [PrefixKey, Prefix])[],
  ): ReadonlyMap<PrefixKey, DiscardFact> | undefined {
    try {
      const present = routes.list();
      const objections = routes.objections(wishes.map(([, prefix]) => prefix));
      this.#isOutOfReach = false;
      return new Map(
        wishes.map(([key, prefix]) => {
          const sentence = objections.get(key);
          if (sentence !== undefined) return [key, { kind: 'absent', sentence }];
          return [key, present.has(key) ? PRESENT : this.#add(routes, prefix)];
        }),
      );
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      const { code } = error;
      if (!this.#isOutOfReach) {
        this.#log.warn('aggregate.discard', { code }, 'the routes of this machine cannot be read');
      }
      this.#isOutOfReach = true;
      const sentence = `the routes of this machine cannot be read (${code})`;
      // what stood goes on: a kernel that is busy for a moment says nothing against it
      return new Map(
        wishes.map(([key]) => [key, this.#facts.get(key) ?? { kind: 'absent', sentence }]),
      );
    }
  }

  #add(routes: DiscardRoutes, prefix: Prefix): DiscardFact {
    const outcome = routes.add(prefix);
    if (outcome.kind !== 'done') return { kind: 'absent', sentence: outcome.sentence };
    this.#mayHold = true;
    const fields = { prefix: formatPrefix(prefix) };
    this.#log.info('aggregate.discard', fields, 'discard route added');
    return PRESENT;
  }

  #leftovers(keep: ReadonlyMap<PrefixKey, Prefix>): readonly (readonly [PrefixKey, Prefix])[] {
    try {
      const present = [...(this.#routes?.list() ?? [])];
      this.#mayHold = present.length > 0;
      return present.filter(([key]) => !keep.has(key) || this.#facts.get(key)?.kind === 'absent');
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      return [];
    }
  }

  #forget(gone: PrefixKey): void {
    this.#facts = new Map([...this.#facts].filter(([key]) => key !== gone));
  }
}

function hasAll(
  known: ReadonlyMap<PrefixKey, Prefix>,
  wanted: ReadonlyMap<PrefixKey, Prefix>,
): boolean {
  for (const key of wanted.keys()) if (!known.has(key)) return false;
  return true;
}

function hasSameFacts(
  a: ReadonlyMap<PrefixKey, DiscardFact>,
  b: ReadonlyMap<PrefixKey, DiscardFact>,
): boolean {
  if (a.size !== b.size) return false;
  for (const [key, fact] of b) {
    const before = a.get(key);
    if (before?.kind !== fact.kind) return false;
    if (fact.kind === 'absent' && before.kind === 'absent' && fact.sentence !== before.sentence) {
      return false;
    }
  }
  return true;
}
