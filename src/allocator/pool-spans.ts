/** Which pool gives out an address: the spans of all pools of one family in order, asked by halving. Pure; for a few thousand ranges. */

import type { Family } from 'bgp-ts';
import type { IpPool } from '../model/ip-pool.ts';
import { sparesEnds } from '../model/pool-addresses.ts';
import { addressNumber } from './address-number.ts';
import type { Span } from './free-numbers.ts';

/** What a pool may give out of one family, in ascending order; empty where it has none. */
export function spansOf(pool: IpPool, family: Family): readonly Span[] {
  const spans: Span[] = [];
  for (const range of pool.ranges) {
    if (range.first.family !== family) continue;
    const spared = pool.avoidFirstLast && sparesEnds(range) ? 1n : 0n;
    const first = addressNumber(range.first) + spared;
    const last = addressNumber(range.last) - spared;
    spans.push({ first, last });
  }
  return spans.toSorted(ascending);
}

export function spanSize(spans: readonly Span[]): bigint {
  return spans.reduce((sum, { first, last }) => sum + (last - first + 1n), 0n);
}

interface OwnedSpan extends Span {
  readonly pool: string;
}

export class PoolSpans {
  readonly #spans: readonly OwnedSpan[];

  /** pools that do not overlap */
  constructor(pools: readonly IpPool[], family: Family) {
    const owned = pools.flatMap((pool) =>
      spansOf(pool, family).map((span) => ({ ...span, pool: pool.name })),
    );
    this.#spans = owned.toSorted(ascending);
  }

  /** the name of the pool that may give it out */
  poolOf(number: bigint): string | undefined {
    let low = 0;
    let high = this.#spans.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const span = this.#spans[middle];
      if (span === undefined) return undefined;
      if (number < span.first) high = middle;
      else if (number > span.last) low = middle + 1;
      else return span.pool;
    }
    return undefined;
  }
}

function ascending(a: Span, b: Span): number {
  return a.first < b.first ? -1 : 1;
}
