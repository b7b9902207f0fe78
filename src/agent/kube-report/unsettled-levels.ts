/**
 * The exclusive claims whose level the controller may be waiting for: those that leave, and those that have been placed here within
 * the last minute. The others are as they should be, and are not told: a node may hold thousands.
 */

import { formatAddress } from 'bgp-ts';
import type { IpClaim } from '../../model/ip-claim.ts';
import type { IpNodeLevel } from '../../model/ip-node.ts';
import { isStraight, levelOf, type PreferenceLevel } from '../../model/names.ts';

interface Seen {
  readonly level: PreferenceLevel;
  readonly sinceMs: number;
}

export interface OwnClaims {
  /** all but the anycast ones */
  readonly claims: readonly IpClaim[];
  /** by claim name, as every router has been told */
  readonly announced: ReadonlyMap<string, PreferenceLevel>;
  /** names of claims that this node does not announce, and says why */
  readonly refused: ReadonlySet<string>;
}

export interface Unsettled {
  /** those that leave first, then the youngest */
  readonly unsettled: readonly IpNodeLevel[];
  /** addresses whose level the controller may wait for: all but what was placed here straight and is not refused */
  readonly awaited: readonly string[];
  /** names of those that were placed here straight and are refused */
  readonly refusedStraight: readonly string[];
}

const SETTLED_MS = 60_000;

export class UnsettledLevels {
  readonly #node: string;
  #seen: ReadonlyMap<string, Seen> = new Map();
  #awaited: ReadonlyMap<string, IpClaim> = new Map();
  #revision = 0;

  constructor(node: string) {
    this.#node = node;
  }

  /** grows with every change of a claim of this node that may be a question of the controller: it is to be answered */
  get revision(): number {
    return this.#revision;
  }

  take({ claims, announced, refused }: OwnClaims, nowMs: number): Unsettled {
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
    const straight = new Set(own.filter((claim) => this.#isAlone(claim)));
    const asked = own.filter((claim) => !straight.has(claim) || refused.has(claim.name));
    this.#note(seen, new Map(asked.map((claim) => [claim.name, claim])));
    const unsettled = waiting
      .toSorted((a, b) => b.seen.level - a.seen.level || b.seen.sinceMs - a.seen.sinceMs)
      .flatMap(({ claim }) => {
        const level = announced.get(claim.name);
        return level === undefined ? [] : [{ address: formatAddress(claim.address), level }];
      });
    return {
      unsettled,
      awaited: asked.map(({ address }) => formatAddress(address)),
      refusedStraight: asked.filter((claim) => straight.has(claim)).map(({ name }) => name),
    };
  }

  #isAlone({ labels, withdrawn }: IpClaim): boolean {
    return isStraight(labels, this.#node) && withdrawn === undefined;
  }

  #note(seen: ReadonlyMap<string, Seen>, awaited: ReadonlyMap<string, IpClaim>): void {
    const hasLeft = [...this.#seen.keys()].some((name) => !seen.has(name));
    // a changed claim is another object
    const isAsked = [...awaited].some(([name, claim]) => this.#awaited.get(name) !== claim);
    if (hasLeft || isAsked) this.#revision += 1;
    this.#seen = seen;
    this.#awaited = awaited;
  }
}
