/**
 * Orderly moves under way, by a node that has to answer: the one that leaves, or the one that
 * comes. It answers for so many at once in its status, the others stand in line. No I/O. Nodes are
 * known by their labels here.
 *
 * A move has its slot from the moment that its write is decided until the claim rests, or the next
 * holder is late and has said that it announces nothing: then it takes no room in what that node
 * lists, and may stand half-way for as long as it likes. It has its slot anew when another one is
 * asked. A claim that is under way and turns round leaves its node without standing in line: two
 * that stand in each other's way would wait for ever. So a node may be left by more, by those that
 * turned round or have given their slot back; what leaves and is not listed counts as gone. A new
 * leader does not count what is under way when it begins.
 */

import type { IpClaim } from '../model/ip-claim.ts';
import { LISTED_LEVELS } from '../model/ip-node.ts';
import { nodeLabel, type PreferenceLevel } from '../model/names.ts';
import { NamespaceTurns } from '../sources/kube/namespace-turns.ts';
import { splitKey } from '../sources/kube/object-key.ts';
import type { ClaimWrite } from './placement-next.ts';
import { inTurnAs } from './placement-subject.ts';

/** moves under way from one node, and to one: what it can answer at once (unsettled-levels.ts, ip-node-status.ts) */
const MOST_OF_ONE = LISTED_LEVELS;
/** thousands of claims of one node are through by then: who still stands in line says so */
const LONG_MS = 120_000;

type Claim = Pick<IpClaim, 'name' | 'services'>;

/** Moves from, or moves to: each claim has one slot, with one node, or stands in one line. */
export class MovesByNode {
  /** by claim: the label of the node */
  readonly #moves = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  /** `namespace/claim` of those that wait: one namespace may have thousands */
  readonly #lines = new Map<string, NamespaceTurns>();
  /** by claim: in whose line it stands, and as what */
  readonly #waits = new Map<string, { readonly label: string; readonly key: string }>();
  /** claims whose turn it is: they have a slot, and have not come for it yet */
  readonly #called = new Set<string>();
  readonly #requeue: (name: string) => void;

  constructor(requeue: (name: string) => void) {
    this.#requeue = requeue;
  }

  /** labels of nodes of which anything is kept */
  get labels(): readonly string[] {
    return [...this.#counts.keys(), ...this.#lines.keys()];
  }

  has(name: string): boolean {
    return this.#moves.has(name) && !this.#called.has(name);
  }

  /**
   * True: it has a slot with this node from now on, and none with another. False: it stands in
   * line, and is looked at again when it has its turn. `isUnderWay`: it stands in no line.
   */
  reserve(claim: Claim, label: string, isUnderWay = false): boolean {
    const { name } = claim;
    if (this.#moves.get(name) !== label) {
      this.#giveBack(name);
      if (isUnderWay) this.#take(name, label);
      else this.#standInLine(name, { label, key: inTurnAs(claim) });
    }
    this.#called.delete(name);
    return this.#moves.get(name) === label;
  }

  end(name: string): void {
    this.#leaveLine(name);
    this.#giveBack(name);
  }

  #standInLine(name: string, wait: { readonly label: string; readonly key: string }): void {
    const before = this.#waits.get(name);
    if (before?.label !== wait.label || before.key !== wait.key) this.#leaveLine(name);
    const line = this.#lines.get(wait.label) ?? new NamespaceTurns();
    line.add(wait.key);
    this.#lines.set(wait.label, line);
    this.#waits.set(name, wait);
    this.#callNext(wait.label, name);
  }

  #leaveLine(name: string): void {
    const wait = this.#waits.get(name);
    if (wait === undefined) return;
    this.#waits.delete(name);
    const line = this.#lines.get(wait.label);
    line?.delete(wait.key);
    if (line?.size === 0) this.#lines.delete(wait.label);
  }

  #take(name: string, label: string): void {
    this.#leaveLine(name);
    this.#moves.set(name, label);
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + 1);
  }

  #giveBack(name: string): void {
    const label = this.#moves.get(name);
    if (label === undefined) return;
    this.#moves.delete(name);
    this.#called.delete(name);
    const others = (this.#counts.get(label) ?? 1) - 1;
    if (others > 0) this.#counts.set(label, others);
    else this.#counts.delete(label);
    this.#callNext(label);
  }

  /** Slots that are free go to those in line, namespaces in turn: nobody who comes later takes them first. `asking` is here already. */
  #callNext(label: string, asking?: string): void {
    const line = this.#lines.get(label);
    while (line !== undefined && line.size > 0 && (this.#counts.get(label) ?? 0) < MOST_OF_ONE) {
      const key = line.take();
      const { name } = splitKey(key);
      this.#take(name, label);
      this.#called.add(name);
      if (name !== asking) this.#requeue(name);
    }
    if (line?.size === 0) this.#lines.delete(label);
  }
}

/** what a write means for those that have to answer, by their labels */
export interface Way {
  readonly down: string | undefined;
  readonly up: string | undefined;
}

export function wayOf(levels: ReadonlyMap<string, PreferenceLevel>, write: ClaimWrite): Way {
  return { down: steppedDown(levels, write), up: steppedUp(levels, write) };
}

/** Whether the write gives the claim of one node to another. */
export function isTaken(from: string | undefined, { node }: ClaimWrite): boolean {
  return from !== undefined && typeof node === 'string' && node !== from;
}

/** Both kinds of slots, and who stands in line for how long. */
export class MovesUnderWay {
  readonly #leaving: MovesByNode;
  readonly #coming: MovesByNode;
  readonly #inLineSince = new Map<string, number>();

  constructor(requeue: (name: string) => void) {
    this.#leaving = new MovesByNode(requeue);
    this.#coming = new MovesByNode(requeue);
  }

  get labels(): readonly string[] {
    return [...this.#leaving.labels, ...this.#coming.labels];
  }

  isLeaving(name: string): boolean {
    return this.#leaving.has(name);
  }

  /**
   * The slots that this write needs; else behind whom it stands in line. A claim whose write fails
   * keeps them: it may have been done, and is tried again.
   */
  reserve(claim: Claim, { down, up }: Way, nowMs: number): InLine | undefined {
    const { name } = claim;
    const isUnderWay = this.#leaving.has(name) || this.#coming.has(name);
    const isFull =
      (up !== undefined && !this.#coming.reserve(claim, up)) ||
      (down !== undefined && !this.#leaving.reserve(claim, down, isUnderWay));
    if (!isFull) {
      this.#inLineSince.delete(name);
      return undefined;
    }
    const sinceMs = this.#inLineSince.get(name) ?? nowMs;
    this.#inLineSince.set(name, sinceMs);
    const [label = '', verb] = up === undefined ? [down, 'are leaving'] : [up, 'are coming to'];
    const who = `${MOST_OF_ONE} claims ${verb}`;
    return { isLong: nowMs - sinceMs >= LONG_MS, who, label };
  }

  /** The write has been taken by the API: one that is to leave comes to nobody. */
  wrote(name: string, { down }: Way): void {
    if (down !== undefined) this.#coming.end(name);
  }

  end(name: string): void {
    this.#inLineSince.delete(name);
    this.#leaving.end(name);
    this.#coming.end(name);
  }
}

export interface InLine {
  readonly isLong: boolean;
  /** the words before the node's name */
  readonly who: string;
  readonly label: string;
}

/** the label of a holder that is told to step down, where the write does that */
function steppedDown(
  levels: ReadonlyMap<string, PreferenceLevel>,
  { labels }: ClaimWrite,
): string | undefined {
  return Object.keys(labels).find(
    (label) => levels.get(label) === 0 && labels[label] !== null && labels[label] !== '0',
  );
}

/** the label of the next holder, where others keep theirs until it has answered */
function steppedUp(
  levels: ReadonlyMap<string, PreferenceLevel>,
  { labels, node }: ClaimWrite,
): string | undefined {
  const label = typeof node === 'string' ? nodeLabel(node) : undefined;
  if (label === undefined || labels[label] !== '0') return undefined;
  const others = [...levels.keys()].filter((each) => each !== label && labels[each] !== null);
  return others.length === 0 ? undefined : label;
}
