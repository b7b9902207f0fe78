/**
 * When releases are answered. Every node answers for an anycast address that is given back, so each
 * namespace has a few answers at once and then one in 20 s: whoever makes and deletes Services in a
 * loop does not have a thousand nodes write all the time, and waits for nobody but itself. One
 * write answers all (docs/decisions/0059). It only counts.
 */

import type { Random } from 'bgp-ts';
import { TokenBucket, waitMs } from './write-pace.ts';

/** of one namespace */
const OWN = { most: 3, refillMs: 20_000 };
/** of all together, or a tenant with many namespaces has many times as much */
const ALL = { most: 6, refillMs: 10_000 };
/** with more of them, the one that was answered longest ago has all its answers again */
const MOST_NAMESPACES = 1000;

export class ReleasePace {
  readonly #random: Random;
  readonly #all: TokenBucket;
  /** those answered longest ago first; who is not here has all its answers */
  readonly #own = new Map<string, TokenBucket>();
  /** namespaces that wait for an answer, and since when */
  #waiting: ReadonlyMap<string, number> = new Map();
  /**
   * Where in its span of time a wait ends, the same for all namespaces until they are answered: of
   * many draws the least would be nearly the same on all nodes.
   */
  #draw: number | undefined;

  constructor(random: Random, nowMs: number) {
    this.#random = random;
    this.#all = new TokenBucket(ALL.most, ALL.refillMs, nowMs);
  }

  /** how many namespaces are remembered */
  get size(): number {
    return this.#own.size;
  }

  /** all whose releases have no answer yet; `sinceMs`: since when the new ones among them wait */
  see(namespaces: ReadonlySet<string>, sinceMs: number): void {
    const before = this.#waiting;
    this.#waiting = new Map([...namespaces].map((each) => [each, before.get(each) ?? sinceMs]));
    if (namespaces.size === 0) this.#draw = undefined;
    else this.#draw ??= this.#random.next();
  }

  /** until there is an answer: as soon as one of them has its turn */
  delayMs(nowMs: number): number {
    const spreadMs = waitMs('release', this.#draw ?? 0);
    let firstMs = Number.POSITIVE_INFINITY;
    for (const [namespace, sinceMs] of this.#waiting) {
      const ownMs = this.#own.get(namespace)?.waitMs(nowMs) ?? 0;
      firstMs = Math.min(firstMs, Math.max(sinceMs + spreadMs - nowMs, ownMs));
    }
    return Math.max(firstMs, this.#all.waitMs(nowMs));
  }

  /** One answer for all that wait. Each of them pays, or many would pay in turn for many writes. */
  take(nowMs: number): void {
    this.#all.take(nowMs);
    for (const namespace of this.#waiting.keys()) {
      const { most, refillMs } = OWN;
      const bucket = this.#own.get(namespace) ?? new TokenBucket(most, refillMs, nowMs);
      bucket.take(nowMs);
      this.#own.delete(namespace);
      this.#own.set(namespace, bucket);
    }
    for (const [namespace, bucket] of this.#own) {
      const isTooMany = this.#own.size > MOST_NAMESPACES;
      if (isTooMany || bucket.isFull(nowMs)) this.#own.delete(namespace);
    }
  }

  /** a write told all that was waited for */
  answered(): void {
    this.#waiting = new Map();
    this.#draw = undefined;
  }
}
