/**
 * When an IPNode is written: how urgent a difference is, how long it may wait for others, and how many writes there may be. Pure but for
 * the buckets, which only count.
 *
 * Every claim that comes moves counts on every node. Were they worth a write each time, one new Service would cost a write of a
 * thousand nodes; so counts travel with what matters, or once a minute.
 */

import type { IpNodeSession, IpNodeStatus } from '../../model/ip-node.ts';

/**
 * `move`: the controller may wait for a level; `release`: it waits to give an address away; `fact`: people want to know; `count`: only
 * numbers have moved
 */
const URGENCIES = ['none', 'count', 'fact', 'release', 'move'] as const;
export type Urgency = (typeof URGENCIES)[number];

export function isMoreUrgent(one: Urgency, other: Urgency): boolean {
  return URGENCIES.indexOf(one) > URGENCIES.indexOf(other);
}

export interface Release {
  /** that gave the address back; empty: nobody's */
  readonly namespace: string;
  /** of the claim: an `observedClaims` from there on answers; absent: nobody knows */
  readonly version?: bigint;
}

/** each under a name of its own */
export type Releases = ReadonlyMap<string, Release>;

export interface Written {
  readonly status: IpNodeStatus;
  /** releases that are answered by its `observedClaims`, and whose they are */
  readonly released: Releases;
  /** addresses whose level the controller may wait for */
  readonly awaited: readonly string[];
  /** the change of its exclusive claims that is answered by its `observedClaims` */
  readonly moves: number;
}

export function urgencyOf(before: Written | undefined, now: Written): Urgency {
  if (before === undefined) return 'move';
  const levels = { before: levelsOf(before.status), now: levelsOf(now.status) };
  const hasMoved = (address: string) => levels.before.get(address) !== levels.now.get(address);
  if (now.awaited.some(hasMoved)) return 'move';
  if (before.moves !== now.moves) return 'move';
  // its exclusive claims are to be elsewhere before it goes
  if (before.status.draining === undefined && now.status.draining !== undefined) return 'move';
  if (namespacesUnanswered(before, now).size > 0) return 'release';
  // what is told no more has settled, and waits for a number to go with
  if ([...levels.now.keys()].some(hasMoved)) return 'fact';
  if (!isEqual(facts(before.status), facts(now.status))) return 'fact';
  return isEqual(before.status, now.status) ? 'none' : 'count';
}

/** the namespaces of all releases that `before` did not answer */
export function namespacesUnanswered(
  before: Written | undefined,
  now: Written,
): ReadonlySet<string> {
  const namespaces = new Set<string>();
  for (const [release, { namespace }] of now.released) {
    if (before?.released.has(release) !== true) namespaces.add(namespace);
  }
  return namespaces;
}

function levelsOf({ levels = [] }: IpNodeStatus): ReadonlyMap<string, number> {
  return new Map(levels.map(({ address, level }) => [address, level]));
}

/**
 * The status without its numbers, and without the levels. Whether the node answers at all is a fact:
 * an agent that has just started does not yet, and moves of claims that it had wait for that.
 */
function facts({
  routes: _routes,
  observedClaims,
  levels: _levels,
  ...rest
}: IpNodeStatus): object {
  const answers = observedClaims !== undefined;
  return { ...rest, answers, sessions: (rest.sessions ?? []).map(withoutCounts) };
}

function withoutCounts({
  routesSent: _sent,
  routesReceived: _received,
  ...rest
}: IpNodeSession): object {
  return rest;
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * How long a difference waits for others that come with it, at least and at most. All nodes hear of a claim in the same moment, and must
 * not all write in one; a move is between two of them.
 */
const WAIT_MS = {
  count: [45_000, 75_000],
  fact: [1500, 2500],
  release: [500, 2500],
  move: [200, 200],
} as const;

/** `draw`: from 0 to 1, the same as long as the same difference waits */
export function waitMs(urgency: Exclude<Urgency, 'none'>, draw: number): number {
  const [least, most] = WAIT_MS[urgency];
  return least + (most - least) * draw;
}

/** Tokens that come back with time; who finds none is told when there will be one. */
export class TokenBucket {
  readonly #most: number;
  readonly #refillMs: number;
  #tokens: number;
  #countedMs: number;

  constructor(most: number, refillMs: number, nowMs: number) {
    this.#most = most;
    this.#refillMs = refillMs;
    this.#tokens = most;
    this.#countedMs = nowMs;
  }

  /** 0: there is one now */
  waitMs(nowMs: number): number {
    this.#count(nowMs);
    return this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) * this.#refillMs);
  }

  isFull(nowMs: number): boolean {
    this.#count(nowMs);
    return this.#tokens === this.#most;
  }

  take(nowMs: number): void {
    this.#count(nowMs);
    this.#tokens = Math.max(0, this.#tokens - 1);
  }

  #count(nowMs: number): void {
    const gained = (nowMs - this.#countedMs) / this.#refillMs;
    this.#tokens = Math.min(this.#most, this.#tokens + gained);
    this.#countedMs = nowMs;
  }
}
