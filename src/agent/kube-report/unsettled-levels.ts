/**
 * The exclusive claims whose level the controller may be waiting for: those that leave, and those that have been placed here within
 * the last minute. The others are as they should be, and are not told: a node may hold thousands.
 */

import { formatAddress } from 'bgp-ts';
import type { IpClaim } from '../../model/ip-claim.ts';
import type { IpNodeLevel } from '../../model/ip-node.ts';
import { levelOf, type PreferenceLevel } from '../../model/names.ts';

interface Seen {
  readonly level: PreferenceLevel;
  readonly sinceMs: number;
}

const SETTLED_MS = 60_000;

export class UnsettledLevels {
  readonly #node: string;
  #seen: ReadonlyMap<string, Seen> = new Map();
  #own: readonly IpClaim[] = [];
  #revision = 0;

  constructor(node: string) {
    this.#node = node;
  }

  /** grows with every change of a claim that this node has a part in: each may be a question that is to be answered */
  get revision(): number {
    return this.#revision;
  }

  /** `announced` by claim name, as every router has been told; those that leave first, then the youngest */
  take(
    claims: readonly IpClaim[],
    announced: ReadonlyMap<string, PreferenceLevel>,
    nowMs: number,
  ): readonly IpNodeLevel[] {
    const seen = new Map<string, Seen>();
    const own: IpClaim[] = [];
    const waiting: { readonly claim: IpClaim; readonly seen: Seen }[] = [];
    for (const claim of claims) {
      const level = levelOf(claim.labels, this.#node);
      if (level === undefined) continue;
      own.push(claim);
      const before = this.#seen.get(claim.name);
      const now = before?.level === level ? before : { level, sinceMs: nowMs };
      seen.set(claim.name, now);
      if (level > 0 || nowMs - now.sinceMs < SETTLED_MS) waiting.push({ claim, seen: now });
    }
    this.#seen = seen;
    if (!isSame(own, this.#own)) this.#revision += 1;
    this.#own = own;
    return waiting
      .toSorted((a, b) => b.seen.level - a.seen.level || b.seen.sinceMs - a.seen.sinceMs)
      .flatMap(({ claim }) => {
        const level = announced.get(claim.name);
        return level === undefined ? [] : [{ address: formatAddress(claim.address), level }];
      });
  }
}

/** a changed claim is another object */
function isSame(a: readonly IpClaim[], b: readonly IpClaim[]): boolean {
  return a.length === b.length && a.every((claim, index) => claim === b[index]);
}
