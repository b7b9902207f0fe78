/**
 * Holders that have said that they do not announce an exclusive claim, though nothing stands in their own way: a check that fails there, a
 * Service without an endpoint there, a router that takes no more routes. How long they are given, and whom the claim goes round from then
 * on. Only a node's own word counts; whom nobody has heard, or who may say it where its list is cut short, refuses nothing. No I/O. All of it may be lost.
 *
 * Where all refuse, a claim must not run in circles: each node is asked once, and after that the waits double.
 */

import { parseAddress } from 'bgp-ts';
import { formatClaimName } from '../model/claim-name.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { type IpNode, type IpNodeRefusal, LISTED_LEVELS } from '../model/ip-node.ts';
import type { PreferenceLevel } from '../model/names.ts';
import { MoveBudget } from '../scheduler/move-rate.ts';
import { NamespaceTurns } from '../sources/kube/namespace-turns.ts';
import { splitKey } from '../sources/kube/object-key.ts';
import { observedClaims } from './placement-memory.ts';
import { inTurnAs } from './placement-subject.ts';

/** What a node tells of one claim. */
export interface Told {
  /** what it announces since it knows the claim as it stands; absent: it has not said */
  readonly answer?: PreferenceLevel | 'nothing';
  /** what it has said last, however long ago */
  readonly said?: PreferenceLevel;
  readonly refusal?: IpNodeRefusal;
  /** it refuses more than it lists */
  readonly isCutShort: boolean;
  /** it may announce more, of what leaves it, than it lists levels of */
  readonly isCrowded: boolean;
}

export function toldBy(ipNode: IpNode | undefined, address: string, version: bigint): Told {
  const { levels, refused, refusedMore = 0 } = ipNode?.status ?? {};
  const said = levels?.find((each) => each.address === address)?.level;
  const refusal = refused?.find((each) => each.address === address);
  const hasAnswered = observedClaims(ipNode) >= version;
  return {
    ...(hasAnswered && { answer: said ?? ('nothing' as const) }),
    ...(said !== undefined && { said }),
    ...(refusal !== undefined && { refusal }),
    isCutShort: refusedMore > 0,
    isCrowded: (levels?.length ?? 0) >= LISTED_LEVELS,
  };
}

/** Claims, by name, that a node refuses and did not refuse before. */
export function newlyRefused(now: IpNode | undefined, before: IpNode | undefined): string[] {
  if (now?.status.refused === before?.status.refused) return [];
  const known = new Set(before?.status.refused?.map(({ address }) => address));
  return (now?.status.refused ?? []).flatMap(({ address }) => {
    const parsed = known.has(address) ? undefined : parseAddress(address);
    return parsed === undefined ? [] : [formatClaimName(parsed)];
  });
}

/** how long a holder that can may take until it announces: rules are written, checks are asked, and settle */
const PATIENCE_MS = 10_000;
/** the longest wait, but for checks that take longer; and how long all must be well until what was is forgotten */
export const MOST_PATIENCE_MS = 10 * 60_000;
/** so many nodes, if there are so many, are asked one after the other before the waits double */
const MOST_IN_HASTE = 10;
/** nobody announces these claims, and most of them may find nobody: those of dead nodes go first */
const RATE = { burst: 100, perSecond: 10 };

export function patienceMs({ checks }: Pick<IpClaim, 'checks'>): number {
  const opening = checks.map(
    ({ intervalMs, timeoutMs, successes, settleMs }) =>
      successes * (intervalMs + timeoutMs) + settleMs,
  );
  return PATIENCE_MS + Math.max(0, ...opening);
}

interface Refused {
  /** who holds it and refuses it, and since when it is given time */
  holder?: { readonly node: string; readonly sinceMs: number; readonly sentence: string };
  /** who was given up on, until all have been */
  readonly left: Set<string>;
  /** refuse it towards one router, and have it at another */
  readonly heard: Set<string>;
  /** how often somebody was given up on, and who, since it was well */
  count: number;
  readonly asked: Set<string>;
  lastMs: number;
  /** the claim may leave its holder */
  hasTurn?: true;
}

const NOBODY: ReadonlySet<string> = new Set();

export class PlacementRefusals {
  readonly #claims = new Map<string, Refused>();
  /** `namespace/claim` of those that wait until they may leave: one namespace may have thousands */
  readonly #line = new NamespaceTurns();
  readonly #budget: MoveBudget;

  constructor(nowMs: number) {
    this.#budget = new MoveBudget(RATE, nowMs);
  }

  /** claims whose holder refuses them */
  *waiting(): Iterable<string> {
    for (const [name, { holder }] of this.#claims) if (holder !== undefined) yield name;
  }

  isWaiting(name: string): boolean {
    return this.#claims.get(name)?.holder !== undefined;
  }

  forget(name: string): void {
    this.#claims.delete(name);
  }

  /** Other nodes may announce it by now: they are asked as if they never had been. Who holds it and refuses it is given no new time by that. */
  askAnew(name: string): void {
    const known = this.#claims.get(name);
    if (known === undefined) return;
    for (const node of known.left) if (node !== known.holder?.node) known.left.delete(node);
    known.asked.clear();
    known.count = 0;
  }

  /**
   * A node that has a label on the claim: whether it refuses it, by its own word. One that leaves, and lists no level where so many do, may
   * announce it to one router and refuse it to another.
   */
  see(name: string, node: string, told: Told, level: PreferenceLevel): boolean {
    const known = this.#claims.get(name);
    if (told.refusal === undefined) {
      if (!told.isCutShort) {
        known?.heard.delete(node);
        known?.left.delete(node);
      }
      return false;
    }
    if (told.said !== undefined) this.#of(name).heard.add(node);
    if (told.isCrowded && level > 0) return false;
    return told.answer === 'nothing' && this.#claims.get(name)?.heard.has(node) !== true;
  }

  /** The holder as it is now; without a sentence: it does not refuse. */
  note(name: string, node: string, sentence: string | undefined, nowMs: number): void {
    const known = sentence === undefined ? this.#claims.get(name) : this.#of(name);
    if (known === undefined) return;
    if (sentence === undefined) {
      delete known.holder;
      const isOver = nowMs - known.lastMs >= MOST_PATIENCE_MS && known.heard.size === 0;
      if (isOver) this.#claims.delete(name);
      return;
    }
    const { holder } = known;
    if (holder === undefined && nowMs - known.lastMs >= MOST_PATIENCE_MS) {
      known.count = 0;
      known.asked.clear();
      known.left.clear();
    }
    const sinceMs = holder?.node === node ? holder.sinceMs : nowMs;
    known.holder = { node, sinceMs, sentence };
    known.lastMs = nowMs;
  }

  /** when a holder that still refuses the claim is given up on; undefined: it does not */
  dueMs(name: string, patience: number, eligible: readonly string[]): number | undefined {
    const known = this.#claims.get(name);
    if (known?.holder === undefined) return undefined;
    const { holder, asked, count } = known;
    const isHasty = asked.size < MOST_IN_HASTE && eligible.some((node) => !asked.has(node));
    const doublings = isHasty ? 0 : count - Math.min(asked.size, MOST_IN_HASTE) + 1;
    const waitMs = Math.min(patience * 2 ** doublings, Math.max(patience, MOST_PATIENCE_MS));
    return holder.sinceMs + waitMs;
  }

  /** Another one is asked, if there is one; the holder has a new term. */
  giveUp(name: string, eligible: readonly string[], nowMs: number): void {
    const known = this.#claims.get(name);
    if (known?.holder === undefined) return;
    const { node } = known.holder;
    known.left.add(node);
    if (eligible.every((each) => known.left.has(each))) {
      known.left.clear();
      known.left.add(node);
    }
    known.count += 1;
    known.asked.add(node);
    known.holder = { ...known.holder, sinceMs: nowMs };
    delete known.hasTurn;
  }

  /** nodes that the claim goes round */
  avoided(name: string): ReadonlySet<string> {
    return this.#claims.get(name)?.left ?? NOBODY;
  }

  /** Whether a claim may leave a holder that was given up on, or stands in line for it; undefined: that is not why it leaves. */
  mayLeave(claim: Pick<IpClaim, 'name' | 'services'>): boolean | undefined {
    if (!this.#isLeaving(claim.name)) return undefined;
    if (this.#claims.get(claim.name)?.hasTurn === true) return true;
    this.#line.add(inTurnAs(claim));
    return false;
  }

  /** Claims that stood in line and may leave now, namespaces in turn; each is told. */
  takeTurns(nowMs: number, tell: (name: string) => void): readonly string[] {
    const taken: string[] = [];
    while (this.#line.size > 0 && this.#budget.take(nowMs)) {
      const name = this.#nextInLine();
      if (name === undefined) break;
      this.#of(name).hasTurn = true;
      taken.push(name);
      tell(name);
    }
    return taken;
  }

  /** those that have become well, or were moved for another reason, take nothing */
  #nextInLine(): string | undefined {
    while (this.#line.size > 0) {
      const key = this.#line.take();
      const { name } = splitKey(key);
      const hasTurn = this.#claims.get(name)?.hasTurn === true;
      if (!hasTurn && this.#isLeaving(name)) return name;
    }
    return undefined;
  }

  #isLeaving(name: string): boolean {
    const known = this.#claims.get(name);
    return known?.holder !== undefined && known.left.has(known.holder.node);
  }

  /** why the claim left this node */
  sentence(name: string, node: string): string | undefined {
    const holder = this.#claims.get(name)?.holder;
    return holder?.node === node ? holder.sentence : undefined;
  }

  #of(name: string): Refused {
    const known = this.#claims.get(name);
    if (known !== undefined) return known;
    const made: Refused = {
      left: new Set(),
      heard: new Set(),
      asked: new Set(),
      count: 0,
      lastMs: Number.NEGATIVE_INFINITY,
    };
    this.#claims.set(name, made);
    return made;
  }
}
