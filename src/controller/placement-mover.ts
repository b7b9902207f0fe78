/**
 * What to do next with one exclusive claim: puts together who shall hold it, how it gets there, what the nodes have answered, and how
 * fast claims may move. No I/O: it returns the write, and is told when it is done.
 */

import { type Clock, formatAddress } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import { ANYCAST_LABEL, nodeLabel, type PreferenceLevel } from '../model/names.ts';
import { assignOne, type Decision } from '../scheduler/assign.ts';
import { Filling } from '../scheduler/fill.ts';
import { leaveAnycast } from '../scheduler/mode-change.ts';
import { type MoveStep, moveStep, type Part } from '../scheduler/move.ts';
import type { MoveBudget } from '../scheduler/move-rate.ts';
import { rebalance } from '../scheduler/rebalance.ts';
import { DONE, type QueueOutcome } from '../sources/kube/key-queue.ts';
import type { ControllerCaches } from './caches.ts';
import { type ControllerCounters, NO_COUNTERS } from './counters.ts';
import { documentRef, type EventSink } from './events.ts';
import type { LivenessView } from './liveness-watch.ts';
import type { PlacementIndex } from './placement-index.ts';
import { PlacementLeaving } from './placement-leaving.ts';
import {
  AVOID_MS,
  avoided,
  isForgettable,
  type MoveMemory,
  newMemory,
  noteSignature,
  noteWrite,
  observedClaims,
  remaining,
} from './placement-memory.ts';
import type { PlacementNodes } from './placement-nodes.ts';
import { EXCLUSIVE_PLACED, type PlacementVerdict } from './placement-status.ts';
import { levelsOf, type PlacementSubject } from './placement-subject.ts';

/** What is to be written into a claim. */
export interface ClaimWrite {
  /** spec.node; null takes it away, absent leaves it */
  readonly node?: string | null;
  readonly labels: Readonly<Record<string, string | null>>;
  readonly sentence: string;
}

export type Next = { readonly verdict?: PlacementVerdict } & (
  | { readonly kind: 'rest'; readonly again: QueueOutcome }
  | { readonly kind: 'write'; readonly write: ClaimWrite }
);

export interface MoverOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly caches: Pick<ControllerCaches, 'ipNodes'>;
  readonly liveness: LivenessView;
  readonly events: EventSink;
  readonly counters?: ControllerCounters;
  readonly nodes: PlacementNodes;
  readonly index: PlacementIndex;
  readonly budget: MoveBudget;
  /** look at this claim again, soon */
  readonly requeue: (name: string) => void;
}

/** how long a node may take to answer */
export const ANSWER_MS = 10_000;
/** until something that only time changes is looked at again */
const LOOK_AGAIN: QueueOutcome = { kind: 'retry', afterMs: 1000 };
const REST: Next = { kind: 'rest', again: DONE };

export class Mover {
  readonly #options: MoverOptions;
  readonly #memories = new Map<string, MoveMemory>();
  /** claims that are not where they shall be */
  readonly #unsettled = new Set<string>();
  readonly #leaving = new PlacementLeaving();
  readonly #filling = new Filling();
  /** claims that a node lost its label on, by that label; what it has confirmed falls out when somebody looks */
  readonly #lost = new Map<string, Set<string>>();
  /** when a move that had to wait may go */
  readonly #slots = new Map<string, number>();

  constructor(options: MoverOptions) {
    this.#options = options;
  }

  get unsettled(): Iterable<string> {
    return this.#unsettled;
  }

  /** labels of nodes of which anything is kept */
  get remembered(): ReadonlySet<string> {
    return new Set([...this.#lost.keys(), ...this.#leaving.labels]);
  }

  /** claims that may wait for an answer of this node */
  *waitingFor(node: string): Iterable<string> {
    for (const name of this.#options.index.claimsOf(node)) {
      if (this.#unsettled.has(name)) yield name;
    }
    // one that has lost its label has no part in the claim any more, and yet its word that it has left is waited for
    const label = nodeLabel(node);
    for (const name of this.#lost.get(label) ?? []) {
      if (this.#memories.get(name)?.left.has(label) !== true) this.#lost.get(label)?.delete(name);
      else if (this.#unsettled.has(name)) yield name;
    }
  }

  forget(name: string): void {
    this.#memories.delete(name);
    this.#unsettled.delete(name);
    this.#slots.delete(name);
    this.#endLeaving(name);
  }

  next(subject: PlacementSubject): Next {
    const { clock, index } = this.#options;
    const memory = this.#memory(subject);
    const decision = this.#decide(subject, memory);
    if (decision.kind === 'place' && this.#options.liveness.isLearning) {
      this.#unsettled.add(subject.name);
      return { kind: 'rest', again: LOOK_AGAIN };
    }
    const target = decision.kind === 'none' ? undefined : decision.node;
    index.hold(subject.name, target ?? subject.claim.node, subject.group);
    if (target === undefined) return this.#nobody(subject);
    const step = this.#step(subject, memory, target);
    switch (step.kind) {
      case 'settled':
        return this.#settled(subject, memory);
      case 'wait': {
        this.#unsettled.add(subject.name);
        const afterMs = Math.max(memory.sinceMs + ANSWER_MS - clock.now(), 100);
        return { kind: 'rest', again: { kind: 'retry', afterMs } };
      }
      case 'unanswered':
        return this.#unanswered(subject, memory, target);
      case 'write':
        return this.#mayWrite(subject, step.write);
    }
  }

  /** The write has been taken by the API. */
  wrote(subject: PlacementSubject, write: ClaimWrite, version: bigint): void {
    const { name, claim, meta } = subject;
    noteWrite(this.#memory(subject), write.labels, levelsOf(claim), version);
    for (const [label, value] of Object.entries(write.labels)) {
      if (value === null) this.#lostOf(label).add(name);
    }
    const down = steppedDown(levelsOf(claim), write);
    if (down !== undefined) this.#beginLeaving(name, down);
    const { log, events, counters = NO_COUNTERS } = this.#options;
    const { node } = write;
    if (node === undefined || node === null || node === claim.node) return;
    const from = claim.node;
    const fields = { claim: name, from, to: node };
    if (from === undefined) {
      counters.moved('first');
      log.debug('controller.move', fields, 'placed');
      return;
    }
    const standing = this.#options.nodes.standingOf(from, subject.demand);
    counters.moved(standing.kind === 'gone' ? 'dead' : 'planned');
    const why = standing.kind === 'eligible' ? 'by intent' : standing.sentence;
    const message = `${formatAddress(claim.address)} moved from ${from} to ${node}: ${why}`;
    log.info('controller.move', { ...fields, reason: why }, 'moved');
    events.record({
      object: documentRef('IPClaim', meta),
      type: 'Normal',
      reason: 'Moved',
      message,
    });
  }

  /** One claim that shall go to a less loaded node, if there is one and nothing else is under way. */
  rebalance(subjects: Iterable<PlacementSubject>): string | undefined {
    if (this.#unsettled.size > 0 || this.#options.liveness.isBlind) return undefined;
    const exclusive = [...subjects].filter(({ placement }) => placement.mode === 'exclusive');
    const { nodes, clock } = this.#options;
    const groups = new Map(
      exclusive.map(({ group, demand }) => [group, nodes.group(group, demand)]),
    );
    const claims = exclusive.map(({ name, group, placement: { nodeFilter }, claim: { node } }) => ({
      name,
      group,
      nodeFilter,
      ...(node !== undefined && { node }),
    }));
    const move = rebalance({ claims, groups });
    if (move === undefined) return undefined;
    const memory = this.#memories.get(move.claim) ?? newMemory(clock.now());
    memory.intent = move.to;
    this.#memories.set(move.claim, memory);
    return move.claim;
  }

  #memory({ name, claim }: PlacementSubject): MoveMemory {
    const nowMs = this.#options.clock.now();
    const memory = this.#memories.get(name) ?? newMemory(nowMs);
    this.#memories.set(name, memory);
    noteSignature(memory, JSON.stringify([claim.node, ...levelsOf(claim)]), nowMs);
    return memory;
  }

  #decide(
    { name, claim, placement, group, demand }: PlacementSubject,
    memory: MoveMemory,
  ): Decision {
    const { nodes, index, clock } = this.#options;
    const all = nodes.group(group, demand);
    if (memory.intent !== undefined) {
      if (claim.node !== memory.intent && all.eligible.includes(memory.intent)) {
        return { kind: 'place', claim: name, node: memory.intent };
      }
      delete memory.intent;
    }
    const near = [...levelsOf(claim)]
      .sort(([, one], [, other]) => one - other)
      .map(([label]) => this.#nodeOf(label));
    const asked = {
      name,
      group,
      nodeFilter: placement.nodeFilter,
      near,
      avoid: avoided(memory, clock.now()),
      ...(claim.node !== undefined && { node: claim.node }),
    };
    const candidates = this.#isCut(claim.node) ? nodes.steady(all) : all;
    const loadOf = (node: string) => index.loadBeside(name, node);
    const { node: from } = claim;
    if (from === undefined) return assignOne(asked, candidates, loadOf);
    const { eligible } = candidates;
    const waiting = index.groupLoadBeside(name, group, from) + 1;
    const least = () => this.#filling.next({ from, group, eligible, waiting, loadOf });
    return assignOne(asked, candidates, loadOf, least);
  }

  /** it lives, but nobody reaches anything through it */
  #isCut(node: string | undefined): boolean {
    if (node === undefined) return false;
    const { life, cutMs } = this.#options.nodes.factsOf(node);
    return life === 'alive' && cutMs > 0;
  }

  #step(subject: PlacementSubject, memory: MoveMemory, target: string): MoveStep {
    const { claim } = subject;
    const partOf = (label: string) => this.#part(label, subject, memory);
    const left = remaining(memory, (label) => {
      const { ipNode } = this.#options.nodes.factsOf(this.#nodeOf(label));
      return ipNode === undefined ? undefined : { ipNode, part: partOf(label) };
    });
    return moveStep({
      levels: levelsOf(claim),
      target,
      partOf,
      ...left,
      ...(claim.node !== undefined && { node: claim.node }),
      isAnnounced: claim.withdrawn === undefined,
      isOverdue: this.#isOverdue(memory),
    });
  }

  #isOverdue({ sinceMs }: MoveMemory): boolean {
    return this.#options.clock.now() - sinceMs >= ANSWER_MS;
  }

  #part(label: string, { claim, meta, demand }: PlacementSubject, memory: MoveMemory): Part {
    const { nodes, caches } = this.#options;
    const node = this.#nodeOf(label);
    const ipNode = caches.ipNodes.get(node);
    const address = formatAddress(claim.address);
    const said = ipNode?.status.levels?.find((each) => each.address === address)?.level;
    const version = memory.labelled.get(label) ?? BigInt(meta.resourceVersion);
    const hasAnswered = observedClaims(ipNode) >= version;
    return {
      isGone: nodes.standingOf(node, demand).kind === 'gone',
      ...(hasAnswered && { answer: said ?? ('nothing' as const) }),
      ...(said !== undefined && { said }),
    };
  }

  /** A label of a node that nobody knows any more says the name itself, unless that was too long. */
  #nodeOf(label: string): string {
    return this.#options.nodes.nameOf(label) ?? label.slice(label.indexOf('/') + 1);
  }

  #nobody(subject: PlacementSubject): Next {
    const { nodes, events } = this.#options;
    const { name, claim, meta, group, demand } = subject;
    this.#unsettled.add(name);
    const why = nodes.whyNobody(group, demand);
    const where = claim.node === undefined ? '' : `; it stays on ${claim.node}`;
    const message = `no node can hold ${formatAddress(claim.address)}: ${why}${where}`;
    const reason = 'NoEligibleNode';
    events.record({ object: documentRef('IPClaim', meta), type: 'Warning', reason, message });
    // whatever changes that changes a node's standing, and then all that are unsettled are looked at again
    return { ...REST, verdict: { phase: 'Pending', reason, message } };
  }

  #settled(subject: PlacementSubject, memory: MoveMemory): Next {
    const { name, claim } = subject;
    const holder = this.#part(nodeLabel(claim.node ?? ''), subject, memory);
    const isThere = holder.answer === 0 || this.#isOverdue(memory) || claim.withdrawn !== undefined;
    const write = leaveAnycast(claim.labels, isThere);
    if (write !== undefined) return { kind: 'write', write };
    if (ANYCAST_LABEL in claim.labels) {
      this.#unsettled.add(name);
      return { kind: 'rest', again: LOOK_AGAIN };
    }
    this.#unsettled.delete(name);
    this.#endLeaving(name);
    if (isForgettable(memory)) this.#memories.delete(name);
    return { ...REST, verdict: EXCLUSIVE_PLACED };
  }

  #unanswered(subject: PlacementSubject, memory: MoveMemory, target: string): Next {
    const { clock, events } = this.#options;
    const { meta, claim } = subject;
    this.#unsettled.add(subject.name);
    memory.avoid.set(target, clock.now() + AVOID_MS);
    const other = this.#decide(subject, memory);
    if (other.kind === 'none' || other.node === target) return { kind: 'rest', again: LOOK_AGAIN };
    const message = `${target} does not announce ${formatAddress(claim.address)}; ${other.node} is asked instead`;
    const reason = 'NodeDoesNotAnswer';
    events.record({ object: documentRef('IPClaim', meta), type: 'Warning', reason, message });
    this.#options.index.hold(subject.name, other.node);
    const step = this.#step(subject, memory, other.node);
    return step.kind === 'write'
      ? { kind: 'write', write: step.write }
      : { kind: 'rest', again: LOOK_AGAIN };
  }

  /** A first place is given at once; who has one moves within limits, and not while we are blind. */
  #mayWrite(subject: PlacementSubject, write: ClaimWrite): Next {
    const { liveness, budget, clock } = this.#options;
    const { name, claim } = subject;
    this.#unsettled.add(name);
    const down = steppedDown(levelsOf(claim), write);
    const isStraight =
      !this.#leaving.has(name) &&
      claim.node !== undefined &&
      typeof write.node === 'string' &&
      write.node !== claim.node;
    if (down === undefined && !isStraight) return { kind: 'write', write };
    if (liveness.isBlind) return { kind: 'rest', again: LOOK_AGAIN };
    if (down !== undefined && this.#leaving.isFull(down)) {
      this.#leaving.lineUp(name, down);
      return { kind: 'rest', again: { kind: 'retry', afterMs: ANSWER_MS } };
    }
    const nowMs = clock.now();
    const dueMs = this.#slots.get(name) ?? budget.reserve(nowMs);
    if (dueMs > nowMs) {
      this.#slots.set(name, dueMs);
      return { kind: 'rest', again: { kind: 'retry', afterMs: dueMs - nowMs } };
    }
    this.#slots.delete(name);
    return { kind: 'write', write };
  }

  /** A node that is new here is a time to forget those that will not speak any more. */
  #lostOf(label: string): Set<string> {
    const known = this.#lost.get(label);
    if (known !== undefined) return known;
    for (const [other, names] of this.#lost) {
      for (const name of names) {
        if (this.#memories.get(name)?.left.has(other) !== true) names.delete(name);
      }
      const { ipNode } = this.#options.nodes.factsOf(this.#nodeOf(other));
      if (names.size === 0 || ipNode === undefined) this.#lost.delete(other);
    }
    const lost = new Set<string>();
    this.#lost.set(label, lost);
    return lost;
  }

  #beginLeaving(name: string, label: string): void {
    this.#endLeaving(name);
    this.#leaving.begin(name, label);
  }

  #endLeaving(name: string): void {
    const next = this.#leaving.end(name);
    if (next !== undefined) this.#options.requeue(next);
  }
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
