/**
 * What the placement loop remembers of the moves that it has under way: since when it waits, who did not answer, who may still be heard
 * though its label is gone. All of it may be lost: a move goes on from the object alone. No I/O.
 */

import type { IpNode } from '../model/ip-node.ts';
import { nodeLabel, type PreferenceLevel } from '../model/names.ts';
import { ANY_NODE, formerNodes } from '../scheduler/former-nodes.ts';
import { cutOffLevel, formerLevel, lingeringLevel, type Part } from '../scheduler/move.ts';
import type { ClaimWrite } from './placement-next.ts';
import { levelsOf, type PlacementSubject } from './placement-subject.ts';

interface Left {
  readonly version: bigint;
  readonly level: PreferenceLevel;
}

export interface MoveMemory {
  /** labels and holder, as they are waited for */
  signature: string;
  sinceMs: number;
  /** resourceVersion of our own last write of a label; none that is older than what the claim says now */
  readonly labelled: Map<string, bigint>;
  /** what the claim says, as it was seen or written last */
  generation?: number;
  readonly left: Map<string, Left>;
  /** nodes that did not answer, until when they are not asked again */
  readonly avoid: Map<string, number>;
  /** where it goes by intent (rebalance), though it could stay */
  intent?: string;
}

/** how long a node may take to answer */
export const ANSWER_MS = 10_000;
export const AVOID_MS = 60_000;

export function newMemory(nowMs: number): MoveMemory {
  return { signature: '', sinceMs: nowMs, labelled: new Map(), left: new Map(), avoid: new Map() };
}

export function isOverdue({ sinceMs }: MoveMemory, nowMs: number): boolean {
  return nowMs - sinceMs >= ANSWER_MS;
}

/** Starts the wait anew where the claim is not what it was. */
export function noteSignature(memory: MoveMemory, signature: string, nowMs: number): void {
  if (memory.signature === signature) return;
  memory.signature = signature;
  memory.sinceMs = nowMs;
}

/** nodes to go round */
export function avoided(memory: MoveMemory, nowMs: number): ReadonlySet<string> {
  for (const [node, untilMs] of memory.avoid) if (untilMs <= nowMs) memory.avoid.delete(node);
  return new Set(memory.avoid.keys());
}

/**
 * Others have written what the claim says: perhaps it was withdrawn meanwhile, and is announced again. Answers from before that count no more: who gave them may
 * have withdrawn it.
 */
export function noteGeneration(
  memory: MoveMemory,
  { meta: { generation } }: Pick<PlacementSubject, 'meta'>,
): MoveMemory {
  if (memory.generation !== generation) memory.labelled.clear();
  memory.generation = generation;
  return memory;
}

/** What the write of labels means for the answers that count from now on. */
export function noteWrite(
  memory: MoveMemory,
  { labels, node }: Pick<ClaimWrite, 'labels' | 'node'>,
  { claim, meta }: Pick<PlacementSubject, 'claim' | 'meta'>,
  version: bigint,
): void {
  const before = levelsOf(claim);
  // its node is part of what it says, and that word was ours
  const isNamed = node !== undefined && (node ?? undefined) !== claim.node;
  memory.generation = meta.generation + (isNamed ? 1 : 0);
  for (const [label, value] of Object.entries(labels)) {
    const level = before.get(label);
    memory.left.delete(label);
    if (value !== null) memory.labelled.set(label, version);
    else {
      memory.labelled.delete(label);
      if (level !== undefined) memory.left.set(label, { version, level });
    }
  }
}

export interface Remaining {
  readonly lingering: ReadonlySet<PreferenceLevel>;
  readonly haunted: ReadonlySet<PreferenceLevel>;
}

interface LeftNode {
  readonly ipNode: IpNode;
  readonly part: Part;
}

/**
 * Levels of those that have lost their labels and have not said that they know; who has said so is forgotten. Those that another controller
 * took the label from the claim itself remembers.
 */
export function remaining(
  memory: MoveMemory,
  { claim, meta }: Pick<PlacementSubject, 'claim' | 'meta'>,
  nodeOf: (label: string) => LeftNode | undefined,
): Remaining {
  const lingering = new Set<PreferenceLevel>();
  const haunted = new Set<PreferenceLevel>();
  for (const [label, { version, level }] of memory.left) {
    const node = nodeOf(label);
    if (node === undefined || observedClaims(node.ipNode) >= version) memory.left.delete(label);
    else if (node.part.isGone) haunted.add(cutOffLevel(node.part));
    else lingering.add(level);
  }
  // of those that announced it while all did nobody knows a level
  const others = [...formerNodes(meta.annotations)]
    .filter((name) => name !== ANY_NODE)
    .map(nodeLabel)
    .filter((label) => !(memory.left.has(label) || label in claim.labels));
  for (const label of others) {
    const node = nodeOf(label);
    // one that has not taken up the claim as it is: cut off, or alive and deaf to its claims
    if (node === undefined || observedClaims(node.ipNode) >= BigInt(meta.resourceVersion)) continue;
    const level = lingeringLevel(node.part);
    if (level === undefined) haunted.add(formerLevel(node.part));
    else lingering.add(level);
  }
  return { lingering, haunted };
}

/** nothing is worth remembering */
export function isForgettable({ left, avoid, intent }: MoveMemory): boolean {
  return left.size === 0 && avoid.size === 0 && intent === undefined;
}

export function observedClaims(ipNode: IpNode | undefined): bigint {
  const text = ipNode?.status.observedClaims ?? '';
  return /^\d+$/.test(text) ? BigInt(text) : -1n;
}

/** Claims that nodes lost their label on, by that label; what they have confirmed falls out when somebody looks. */
export class LostLabels {
  readonly #lost = new Map<string, Set<string>>();
  readonly #isAwaited: (label: string, name: string) => boolean;
  readonly #isKnown: (label: string) => boolean;

  constructor(
    isAwaited: (label: string, name: string) => boolean,
    isKnown: (label: string) => boolean,
  ) {
    this.#isAwaited = isAwaited;
    this.#isKnown = isKnown;
  }

  get labels(): Iterable<string> {
    return this.#lost.keys();
  }

  /** A node that is new here is a time to forget those that will not speak any more. */
  add(label: string, name: string): void {
    const known = this.#lost.get(label);
    if (known === undefined) {
      for (const other of this.#lost.keys()) this.#tidy(other);
      this.#lost.set(label, new Set([name]));
    } else known.add(name);
  }

  #tidy(label: string): void {
    const names = [...this.waiting(label)];
    if (names.length === 0 || !this.#isKnown(label)) this.#lost.delete(label);
  }

  *waiting(label: string): Iterable<string> {
    const names = this.#lost.get(label);
    for (const name of names ?? []) {
      if (this.#isAwaited(label, name)) yield name;
      else names?.delete(name);
    }
  }
}
