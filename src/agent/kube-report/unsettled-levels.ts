/**
 * The exclusive claims whose level the controller may be waiting for: those that come here while another node has a label on them, those that
 * leave, those that became exclusive and wait for other nodes, and those that have been placed here within the last minute. The others are as they should be, and are left out: a node may hold thousands.
 */

import { formatAddress } from 'bgp-ts';
import type { IpClaim } from '../../model/ip-claim.ts';
import { type IpNodeLevel, LISTED_LEVELS } from '../../model/ip-node.ts';
import { isNodeLabel, isStraight, levelOf, type PreferenceLevel } from '../../model/names.ts';

interface Seen {
  readonly level: PreferenceLevel;
  readonly sinceMs: number;
  /** its place in the line: the longest here, or the longest since its last turn, comes first */
  lineMs: number;
  /** since when it has its turn */
  turnMs?: number;
}

interface Waiting {
  readonly claim: IpClaim;
  readonly seen: Seen;
  readonly rank: number;
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
  /** those that come here first, then those that leave, each the oldest first, then, while there are few of all, those that became exclusive and those that are settled, each the youngest first */
  readonly unsettled: readonly IpNodeLevel[];
  /** addresses whose level the controller may wait for: all but what was placed here straight and is not refused */
  readonly awaited: readonly string[];
  /** names of those that were placed here straight and are refused */
  readonly refusedStraight: readonly string[];
}

const SETTLED_MS = 60_000;
/**
 * A move is waited for at the level of the next holder; a leaving claim that is not listed counts as gone, which is lower still. One that
 * became exclusive waits for other nodes, which may be off for hours: the controller takes it for held, too, where this node has taken
 * it up and neither lists nor refuses it (mode-change.ts).
 */
const COMES = 0;
const LEAVES = 1;
const BECAME = 2;
const SETTLED = 3;
/**
 * of those that come here so many have room in any case (ip-node-status.ts); one leader has no more
 * under way to one node, and the one before it may have begun others
 */
const MOST_AT_ONCE = LISTED_LEVELS;
const TURN_MS = 60_000;

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
    const waiting: Waiting[] = [];
    for (const claim of claims) {
      const level = levelOf(claim.labels, this.#node);
      if (level === undefined) continue;
      own.push(claim);
      const before = this.#seen.get(claim.name);
      const now = before?.level === level ? before : { level, sinceMs: nowMs, lineMs: nowMs };
      seen.set(claim.name, now);
      const rank = level > 0 ? LEAVES : this.#rankOfComing(claim);
      // a later move of the same claim has a turn of its own
      if (rank !== COMES) delete now.turnMs;
      if (rank === SETTLED && nowMs - now.sinceMs >= SETTLED_MS) continue;
      waiting.push({ claim, seen: now, rank });
    }
    const straight = new Set(own.filter((claim) => this.#isAlone(claim)));
    const asked = own.filter((claim) => !straight.has(claim) || refused.has(claim.name));
    this.#note(seen, new Map(asked.map((claim) => [claim.name, claim])));
    endTurns(waiting, nowMs);
    return {
      unsettled: listed(waiting, announced),
      awaited: asked.map(({ address }) => formatAddress(address)),
      refusedStraight: asked.filter((claim) => straight.has(claim)).map(({ name }) => name),
    };
  }

  #rankOfComing({ labels }: IpClaim): number {
    if (isStraight(labels, this.#node)) return SETTLED;
    const isShared = Object.keys(labels).filter(isNodeLabel).length > 1;
    return isShared ? COMES : BECAME;
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

function inLine(a: Waiting, b: Waiting): number {
  const order = a.rank - b.rank;
  if (order !== 0) return order;
  return a.rank >= BECAME ? b.seen.sinceMs - a.seen.sinceMs : a.seen.lineMs - b.seen.lineMs;
}

/**
 * All moves. A list of LISTED_LEVELS says that moves may be missing, so the others fill it up to one fewer: a thousand that became exclusive
 * may be here for hours, and for as long the controller would not believe that this node refuses a claim that leaves it.
 */
function listed(
  waiting: readonly Waiting[],
  announced: OwnClaims['announced'],
): readonly IpNodeLevel[] {
  const told = waiting.filter(({ claim }) => announced.has(claim.name)).toSorted(inLine);
  const moves = told.filter(({ rank }) => rank < BECAME).length;
  return told.slice(0, Math.max(moves, LISTED_LEVELS - 1)).flatMap(({ claim }) => {
    const level = announced.get(claim.name);
    return level === undefined ? [] : [{ address: formatAddress(claim.address), level }];
  });
}

/** Where not all have room, one that nothing comes of gives way to the next ones. */
function endTurns(waiting: readonly Waiting[], nowMs: number): void {
  const coming = waiting.filter(({ rank }) => rank === COMES).toSorted(inLine);
  if (coming.length <= MOST_AT_ONCE) return;
  for (const { seen } of coming.slice(0, MOST_AT_ONCE)) {
    seen.turnMs ??= nowMs;
    if (nowMs - seen.turnMs < TURN_MS) continue;
    seen.lineMs = nowMs;
    delete seen.turnMs;
  }
}
