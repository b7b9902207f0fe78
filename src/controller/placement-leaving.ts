/**
 * Orderly moves under way, by a node that has to answer: the one that leaves, or the one that
 * comes. It answers for so many at once in its status, the others stand in line. No I/O. Nodes are
 * known by their labels here.
 *
 * A move has its slot from the moment that its write is decided until the claim rests. A claim that
 * is under way and turns round leaves its node without standing in line: two that stand in each
 * other's way would wait for ever. So a node may be left by more, by those that turned round; what
 * leaves and is not listed counts as gone. A new leader does not count what is under way when it
 * begins.
 */

import { nodeLabel, type PreferenceLevel } from '../model/names.ts';
import type { ClaimWrite } from './placement-next.ts';

/** moves under way from one node, and to one: what it can answer at once (unsettled-levels.ts, ip-node-status.ts) */
const MOST_OF_ONE = 300;
/** thousands of claims of one node are through by then: who still stands in line says so */
const LONG_MS = 120_000;

/** Moves from, or moves to: each claim has one slot, with one node, or stands in one line. */
export class MovesByNode {
  /** by claim: the label of the node */
  readonly #moves = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #lines = new Map<string, Set<string>>();
  /** by claim: in whose line it stands */
  readonly #waits = new Map<string, string>();
  readonly #requeue: (name: string) => void;

  constructor(requeue: (name: string) => void) {
    this.#requeue = requeue;
  }

  /** labels of nodes of which anything is kept */
  get labels(): readonly string[] {
    return [...this.#counts.keys(), ...this.#lines.keys()];
  }

  has(name: string): boolean {
    return this.#moves.has(name);
  }

  /**
   * True: it has a slot with this node from now on, and none with another. False: it stands in
   * line, and is looked at again when it has its turn. `isUnderWay`: it stands in no line.
   */
  reserve(name: string, label: string, isUnderWay = false): boolean {
    if (this.#moves.get(name) === label) return true;
    this.#giveBack(name);
    if (this.#waits.get(name) !== label) this.#leaveLine(name);
    const count = this.#counts.get(label) ?? 0;
    if (count >= MOST_OF_ONE && !isUnderWay) {
      this.#waits.set(name, label);
      this.#lines.set(label, (this.#lines.get(label) ?? new Set()).add(name));
      return false;
    }
    this.#leaveLine(name);
    this.#moves.set(name, label);
    this.#counts.set(label, count + 1);
    return true;
  }

  end(name: string): void {
    this.#leaveLine(name);
    this.#giveBack(name);
  }

  #leaveLine(name: string): void {
    const label = this.#waits.get(name);
    if (label === undefined) return;
    this.#waits.delete(name);
    const line = this.#lines.get(label);
    line?.delete(name);
    if (line?.size === 0) this.#lines.delete(label);
  }

  /** the first in line has its turn now */
  #giveBack(name: string): void {
    const label = this.#moves.get(name);
    if (label === undefined) return;
    this.#moves.delete(name);
    const others = (this.#counts.get(label) ?? 1) - 1;
    if (others > 0) this.#counts.set(label, others);
    else this.#counts.delete(label);
    if (others >= MOST_OF_ONE) return;
    const [first] = this.#lines.get(label) ?? [];
    if (first === undefined) return;
    this.#leaveLine(first);
    this.#requeue(first);
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
  reserve(name: string, { down, up }: Way, nowMs: number): InLine | undefined {
    const isUnderWay = this.#leaving.has(name) || this.#coming.has(name);
    const isFull =
      (up !== undefined && !this.#coming.reserve(name, up)) ||
      (down !== undefined && !this.#leaving.reserve(name, down, isUnderWay));
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
