/**
 * The memory of an Adj-RIB-Out: one entry per route, buckets of routes that wait with the same attributes, and a hash
 * table from prefix and path identifier to the entry.
 *
 * An entry is in one bucket at most (the links are in the entry itself), so what waits can never be more than what is
 * known. The table hashes the bits of the prefix and compares them in place: a Map would want a string per prefix,
 * which costs half as much again as the entry. The prefixes are our own, so nobody can choose them to collide.
 */

import type { Ipv6Prefix, Prefix } from '../net/address.ts';
import type { Refusal } from './pack.ts';
import type { RouteAttributes } from './route.ts';

/** One route towards one neighbour. It is dropped when it is neither wanted nor told. */
export interface Entry {
  readonly prefix: Prefix;
  readonly pathId: number;
  /** what the neighbour shall have; undefined = nothing */
  wanted: Bucket | undefined;
  /** what it has been sent in this session; `STALE` = something that has to be said again */
  told: Bucket | undefined;
  /** the last `apply` that wanted it */
  mark: number;
  bucket: Bucket | undefined;
  previous: Entry | undefined;
  next: Entry | undefined;
  /** the next entry in the same slot of the table */
  chain: Entry | undefined;
}

function newEntry(prefix: Prefix, pathId: number, chain: Entry | undefined): Entry {
  return {
    prefix,
    pathId,
    wanted: undefined,
    told: undefined,
    mark: 0,
    bucket: undefined,
    previous: undefined,
    next: undefined,
    chain,
  };
}

/** Routes that wait to go out with the same attributes, in the order in which they came. Also the identity of an attribute set. */
export class Bucket {
  readonly attributes: RouteAttributes;
  /** set when these attributes cannot go out on the present session; the entries then wait for another one */
  refusal: Refusal | undefined = undefined;
  head: Entry | undefined = undefined;
  /** links of the `BucketQueue` that it is in */
  queue: BucketQueue | undefined = undefined;
  previous: Bucket | undefined = undefined;
  next: Bucket | undefined = undefined;
  #tail: Entry | undefined = undefined;
  #size = 0;

  constructor(attributes: RouteAttributes) {
    this.attributes = attributes;
  }

  get size(): number {
    return this.#size;
  }

  append(entry: Entry): void {
    entry.bucket = this;
    entry.previous = this.#tail;
    if (this.#tail === undefined) this.head = entry;
    else this.#tail.next = entry;
    this.#tail = entry;
    this.#size++;
  }

  remove(entry: Entry): void {
    const { previous, next } = entry;
    if (previous === undefined) this.head = next;
    else previous.next = next;
    if (next === undefined) this.#tail = previous;
    else next.previous = previous;
    entry.bucket = undefined;
    entry.previous = undefined;
    entry.next = undefined;
    this.#size--;
  }
}

/**
 * Buckets in the order in which they came to have something to send. Linked like the entries: a Set would do, but finding its
 * first member after thousands were removed walks over all of those.
 */
export class BucketQueue {
  head: Bucket | undefined = undefined;
  #tail: Bucket | undefined = undefined;

  /** Does nothing for a bucket that is in the queue. */
  add(bucket: Bucket): void {
    if (bucket.queue === this) return;
    bucket.queue = this;
    bucket.previous = this.#tail;
    if (this.#tail === undefined) this.head = bucket;
    else this.#tail.next = bucket;
    this.#tail = bucket;
  }

  /** Does nothing for a bucket that is not in the queue. */
  remove(bucket: Bucket): void {
    if (bucket.queue !== this) return;
    const { previous, next } = bucket;
    if (previous === undefined) this.head = next;
    else previous.next = next;
    if (next === undefined) this.#tail = previous;
    else next.previous = previous;
    bucket.queue = undefined;
    bucket.previous = undefined;
    bucket.next = undefined;
  }
}

const INITIAL_SLOTS = 64;

export class EntryTable {
  #slots: (Entry | undefined)[] = emptySlots(INITIAL_SLOTS);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Makes room for this many entries at once instead of growing in steps. */
  reserve(count: number): void {
    if (count > this.#slots.length) this.#resize(count);
  }

  /** The entry of this prefix and path identifier, a new one where there was none. */
  findOrAdd(prefix: Prefix, pathId: number): Entry {
    const code = entryHash(prefix, pathId);
    let entry = this.#slots[code & (this.#slots.length - 1)];
    while (entry !== undefined && !isFor(entry, prefix, pathId)) entry = entry.chain;
    if (entry !== undefined) return entry;
    if (this.#size >= this.#slots.length) this.#resize(this.#slots.length * 2);
    const at = code & (this.#slots.length - 1);
    const added = newEntry(prefix, pathId, this.#slots[at]);
    this.#slots[at] = added;
    this.#size++;
    return added;
  }

  remove(entry: Entry): void {
    const at = entryHash(entry.prefix, entry.pathId) & (this.#slots.length - 1);
    let other = this.#slots[at];
    if (other === entry) this.#slots[at] = entry.chain;
    else {
      while (other !== undefined && other.chain !== entry) other = other.chain;
      if (other === undefined) throw new Error('the entry is not in the table');
      other.chain = entry.chain;
    }
    entry.chain = undefined;
    this.#size--;
    if (this.#size === 0) this.#slots = emptySlots(INITIAL_SLOTS);
  }

  /** The visitor may remove the entry that it is given, and no other. */
  forEach(visit: (entry: Entry) => void): void {
    for (const first of this.#slots) {
      let entry = first;
      while (entry !== undefined) {
        const chain: Entry | undefined = entry.chain;
        visit(entry);
        entry = chain;
      }
    }
  }

  #resize(count: number): void {
    let size = INITIAL_SLOTS;
    while (size < count) size *= 2;
    const old = this.#slots;
    const slots = emptySlots(size);
    for (const first of old) {
      let entry = first;
      while (entry !== undefined) {
        const chain: Entry | undefined = entry.chain;
        const at = entryHash(entry.prefix, entry.pathId) & (size - 1);
        entry.chain = slots[at];
        slots[at] = entry;
        entry = chain;
      }
    }
    this.#slots = slots;
  }
}

function emptySlots(count: number): (Entry | undefined)[] {
  return new Array<Entry | undefined>(count).fill(undefined);
}

function isFor(entry: Entry, prefix: Prefix, pathId: number): boolean {
  const own = entry.prefix;
  if (own.length !== prefix.length || entry.pathId !== pathId) return false;
  if (own.family === 'ipv4') return prefix.family === 'ipv4' && own.bits === prefix.bits;
  return (
    prefix.family === 'ipv6' &&
    own.w3 === prefix.w3 &&
    own.w2 === prefix.w2 &&
    own.w1 === prefix.w1 &&
    own.w0 === prefix.w0
  );
}

/**
 * Neighbouring prefixes of one length fall into neighbouring slots, so that walking a block of them walks memory in order
 * and blocks of up to 65,536 never collide with themselves.
 */
export function entryHash(prefix: Prefix, pathId: number): number {
  const { length } = prefix;
  // Length 0 shifts by 32, which is no shift at all, of a word that is 0.
  const word = prefix.family === 'ipv4' ? prefix.bits >>> (32 - length) : ipv6Word(prefix);
  const rest = Math.imul(length, 0x27d4eb2f) ^ Math.imul(pathId, 0x165667b1);
  return ((word + Math.imul(word >>> 16, 0x2c1b3c6d)) | 0) + (rest | 0);
}

function ipv6Word({ w0, w1, w2, w3 }: Ipv6Prefix): number {
  return w3 ^ Math.imul(w2, 0x85ebca6b) ^ Math.imul(w1 ^ Math.imul(w0, 0x9e3779b1), 0x9e3779b1);
}
