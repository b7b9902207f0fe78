/**
 * The attribute sets of an Adj-RIB-Out: equal attributes are one bucket, so that comparing what is wanted with what was told is
 * comparing two references. Sets that no entry uses any more are swept out when they may be as many as the others: a
 * controller that never stops changing attributes must not fill the memory of a session that stands.
 */

import type { EntryTable } from './adj-rib-out-table.ts';
import { Bucket } from './adj-rib-out-table.ts';
import type { RouteAttributes } from './route.ts';
import { attributesKey } from './route.ts';

const FIRST_SWEEP_AT = 64;

export class AttributeSets {
  readonly #byKey = new Map<string, Bucket>();
  #sweepAt = FIRST_SWEEP_AT;
  /** routes come in runs that share one attribute object */
  #lastAttributes: RouteAttributes | undefined = undefined;
  #lastBucket: Bucket | undefined = undefined;

  get size(): number {
    return this.#byKey.size;
  }

  bucketOf(attributes: RouteAttributes): Bucket {
    if (attributes === this.#lastAttributes && this.#lastBucket !== undefined) {
      return this.#lastBucket;
    }
    const key = attributesKey(attributes);
    let bucket = this.#byKey.get(key);
    if (bucket === undefined) {
      bucket = new Bucket(attributes);
      this.#byKey.set(key, bucket);
    }
    this.#lastAttributes = attributes;
    this.#lastBucket = bucket;
    return bucket;
  }

  all(): IterableIterator<Bucket> {
    return this.#byKey.values();
  }

  /**
   * Drops what the table does not use, if there is much. What `told` refers to is in use: a new bucket with the same attributes
   * would look like a change.
   */
  sweep(table: EntryTable): void {
    this.#lastAttributes = undefined;
    this.#lastBucket = undefined;
    if (this.#byKey.size <= this.#sweepAt) return;
    const used = new Set<Bucket>();
    table.forEach(({ wanted, told }) => {
      if (wanted !== undefined) used.add(wanted);
      if (told !== undefined) used.add(told);
    });
    for (const [key, bucket] of this.#byKey) if (!used.has(bucket)) this.#byKey.delete(key);
    this.#sweepAt = Math.max(FIRST_SWEEP_AT, this.#byKey.size * 2);
  }
}
