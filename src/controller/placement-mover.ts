/**
 * What to do next with one exclusive claim: puts together who shall hold it, how it gets there, what the nodes have answered, and how
 * fast claims may move. No I/O: it returns the write, and is told when it is done.
 */

import { type Clock, formatAddress } from 'bgp-ts';
import { ANYCAST_LABEL, nodeLabel } from '../model/names.ts';
import { assignOne, type Decision } from '../scheduler/assign.ts';
import { Filling } from '../scheduler/fill.ts';
import { isHeldBy, leaveAnycast } from '../scheduler/mode-change.ts';
import { answerVersion, type MoveStep, moveStep, type Part } from '../scheduler/move.ts';
import type { MoveBudget } from '../scheduler/move-rate.ts';
import { DONE } from '../sources/kube/key-queue.ts';
import type { ControllerCaches } from './caches.ts';
import type { LivenessView } from './liveness-watch.ts';
import type { PlacementEndpoints } from './placement-endpoints.ts';
import type { PlacementIndex } from './placement-index.ts';
import { isTaken, MovesUnderWay, wayOf } from './placement-leaving.ts';
import { MoveLine } from './placement-line.ts';
import {
  ANSWER_MS,
  AVOID_MS,
  avoided,
  isForgettable,
  isOverdue,
  LostLabels,
  type MoveMemory,
  newMemory,
  noteGeneration,
  noteSignature,
  noteWrite,
  remaining,
} from './placement-memory.ts';
import { awaitUnaware, type ModeOptions } from './placement-mode.ts';
import type { ClaimWrite, Next } from './placement-next.ts';
import type { PlacementNodes } from './placement-nodes.ts';
import { rebalanceOf } from './placement-rebalance.ts';
import { PlacementRefusals, patienceMs, type Told, toldBy } from './placement-refusals.ts';
import { EXCLUSIVE_PLACED } from './placement-status.ts';
import { levelsOf, type PlacementSubject } from './placement-subject.ts';
import { PlacementTeller, type PlacementTellerOptions } from './placement-teller.ts';

export interface MoverOptions extends PlacementTellerOptions, Pick<ModeOptions, 'maxStaleMs'> {
  readonly clock: Clock;
  readonly caches: Pick<ControllerCaches, 'ipNodes'>;
  readonly liveness: LivenessView;
  readonly nodes: PlacementNodes;
  readonly index: PlacementIndex;
  readonly endpoints: PlacementEndpoints;
  readonly budget: MoveBudget;
  /** look at this claim again, soon */
  readonly requeue: (name: string) => void;
}

/** until something that only time changes is looked at again */
const LOOK_AGAIN_MS = 1000;
const LOOK_AGAIN: Next = { kind: 'rest', again: { kind: 'retry', afterMs: LOOK_AGAIN_MS } };
const WAIT_IN_LINE: Next = { kind: 'rest', again: { kind: 'retry', afterMs: ANSWER_MS } };
const REST: Next = { kind: 'rest', again: DONE };

export class Mover {
  readonly #options: MoverOptions;
  readonly #memories = new Map<string, MoveMemory>();
  /** claims that are not where they shall be */
  readonly #unsettled = new Set<string>();
  /** claims that are where they shall be, and that all announce while a node is off: for hours */
  readonly #awaiting = new Set<string>();
  readonly #moves: MovesUnderWay;
  readonly #refusals: PlacementRefusals;
  readonly #teller: PlacementTeller;
  readonly #filling = new Filling();
  readonly #lost: LostLabels;
  readonly #line: MoveLine;

  constructor(options: MoverOptions) {
    this.#options = options;
    this.#lost = new LostLabels(
      (label, name) => this.#memories.get(name)?.left.has(label) === true,
      (label) => options.nodes.factsOf(this.#nodeOf(label)).ipNode !== undefined,
    );
    this.#moves = new MovesUnderWay(options.requeue);
    this.#line = new MoveLine(options.budget, options.requeue);
    this.#refusals = new PlacementRefusals(options.clock.now());
    this.#teller = new PlacementTeller(options);
  }

  /** claims that a node whose standing changes may be for */
  *unsettled(): Iterable<string> {
    yield* this.#unsettled;
    yield* this.#awaiting;
    yield* this.#refusals.waiting();
  }

  /** labels of nodes of which anything is kept */
  get remembered(): ReadonlySet<string> {
    return new Set([...this.#lost.labels, ...this.#moves.labels]);
  }

  /** claims that may wait for an answer of this node */
  *waitingFor(node: string): Iterable<string> {
    for (const name of this.#options.index.claimsOf(node)) {
      const isOpen = this.#unsettled.has(name) || this.#awaiting.has(name);
      if (isOpen || this.#refusals.isWaiting(name)) yield name;
    }
    // one that has lost its label has no part in the claim any more, and yet its word that it has left is waited for
    for (const name of this.#lost.waiting(nodeLabel(node))) {
      if (this.#unsettled.has(name)) yield name;
    }
  }

  forget(name: string): void {
    this.#memories.delete(name);
    this.#refusals.forget(name);
    this.rest(name);
  }

  /** Nothing is done about it: it keeps no other waiting. */
  rest(name: string): void {
    this.#line.forget(name);
    this.#awaiting.delete(name);
    this.#unsettled.delete(name);
    this.#moves.end(name);
  }

  /** Others may be able to announce it now. */
  askAnew(name: string): void {
    this.#refusals.askAnew(name);
  }

  /** Claims that their holders refuse leave them one after the other: those whose turn it is are looked at. */
  takeTurns(): readonly string[] {
    const { clock, requeue } = this.#options;
    return this.#refusals.takeTurns(clock.now(), requeue);
  }

  next(subject: PlacementSubject): Next {
    const { clock, index } = this.#options;
    const memory = noteGeneration(this.#memory(subject), subject);
    this.#awaiting.delete(subject.name);
    const holder = this.#lookAtHolder(subject, memory);
    const decision = this.#decide(subject, memory);
    if (decision.kind === 'place' && this.#options.liveness.isLearning) {
      this.#unsettled.add(subject.name);
      return LOOK_AGAIN;
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
        const leftMs = memory.sinceMs + ANSWER_MS - clock.now();
        if (leftMs <= 0) this.#teller.waits(subject, step.sentence);
        const afterMs = leftMs > 0 ? Math.max(leftMs, 100) : ANSWER_MS;
        return { kind: 'rest', again: { kind: 'retry', afterMs } };
      }
      case 'unanswered':
        return holder?.refuses === true && target === subject.claim.node
          ? this.#refused(subject)
          : this.#unanswered(subject, memory, target);
      case 'write':
        return this.#mayWrite(subject, step.write);
    }
  }

  /** The write has been taken by the API. */
  wrote(subject: PlacementSubject, write: ClaimWrite, version: bigint): void {
    const { name, claim } = subject;
    noteWrite(this.#memory(subject), write, subject, version);
    for (const [label, value] of Object.entries(write.labels)) {
      if (value === null) this.#lost.add(label, name);
    }
    this.#moves.wrote(name, wayOf(levelsOf(claim), write));
    const { node } = write;
    const from = claim.node;
    if (node === undefined || node === null || node === from) return;
    if (from === undefined) {
      this.#teller.placed(subject, node);
      return;
    }
    const standing = this.#options.nodes.standingOf(from, subject.demand);
    this.#teller.moved(subject, { from, to: node }, standing, this.#refusals.sentence(name, from));
  }

  /** One claim that shall go to a less loaded node, if there is one and nothing else is under way. */
  rebalance(subjects: Iterable<PlacementSubject>): string | undefined {
    if (this.#unsettled.size > 0 || this.#options.liveness.isBlind) return undefined;
    const { nodes, clock } = this.#options;
    const isBound = (name: string) =>
      this.#awaiting.has(name) || this.#refusals.avoided(name).size > 0;
    const move = rebalanceOf(subjects, nodes, isBound);
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
    const { nodes, index, endpoints, clock } = this.#options;
    const all = nodes.group(group, demand);
    const left = new Set([...avoided(memory, clock.now()), ...this.#refusals.avoided(name)]);
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
      avoid: endpoints.avoided(claim, all.eligible, left),
      ...(claim.node !== undefined && { node: claim.node }),
    };
    const candidates = nodes.candidates(all, asked, demand);
    const loadOf = (node: string) => index.loadBeside(name, node);
    const { node: from } = claim;
    if (from === undefined) return assignOne(asked, candidates, loadOf);
    const { eligible } = candidates;
    const waiting = index.groupLoadBeside(name, group, from) + 1;
    const least = () => this.#filling.next({ from, group, eligible, waiting, loadOf });
    return assignOne(asked, candidates, loadOf, least);
  }

  #step(subject: PlacementSubject, memory: MoveMemory, target: string): MoveStep {
    const { claim } = subject;
    const partOf = (label: string) => this.#part(label, subject, memory);
    const left = remaining(memory, subject, (label) => {
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
      isOverdue: isOverdue(memory, this.#options.clock.now()),
    });
  }

  #part(label: string, subject: PlacementSubject, memory: MoveMemory): Part & Partial<Told> {
    const { nodes, caches } = this.#options;
    const { name, claim, meta, demand } = subject;
    const node = this.#nodeOf(label);
    const isWithdrawn = claim.withdrawn !== undefined;
    const stands = { version: BigInt(meta.resourceVersion), isWithdrawn };
    const version = answerVersion(stands, memory.labelled.get(label));
    const told = toldBy(caches.ipNodes.get(node), formatAddress(claim.address), version);
    const level = levelsOf(claim).get(label);
    const refuses = level !== undefined && this.#refusals.see(name, node, told, level);
    return { isGone: nodes.standingOf(node, demand).kind === 'gone', ...told, refuses };
  }

  #lookAtHolder(subject: PlacementSubject, memory: MoveMemory): Part | undefined {
    const { name, claim } = subject;
    if (claim.node === undefined) return undefined;
    const { refusal, ...holder } = this.#part(nodeLabel(claim.node), subject, memory);
    const sentence = holder.refuses === true ? refusal?.message : undefined;
    this.#refusals.note(name, claim.node, sentence, this.#options.clock.now());
    // nobody can announce it, and whoever can then is another one
    const isHopeless = this.#options.endpoints.nodesFor(claim)?.size === 0;
    if (claim.withdrawn !== undefined || isHopeless) this.#refusals.forget(name);
    return holder;
  }

  /** A label of a node that nobody knows any more says the name itself, unless that was too long. */
  #nodeOf(label: string): string {
    return this.#options.nodes.nameOf(label) ?? label.slice(label.indexOf('/') + 1);
  }

  #nobody(subject: PlacementSubject): Next {
    const { name, claim, group, demand } = subject;
    this.#moves.end(name);
    this.#unsettled.add(name);
    const why = this.#options.nodes.whyNobody(group, demand);
    const where = claim.node === undefined ? '' : `; it stays on ${claim.node}`;
    const message = `no node can hold ${formatAddress(claim.address)}: ${why}${where}`;
    const reason = 'NoEligibleNode';
    this.#teller.warn(subject, reason, message);
    // whatever changes that changes a node's standing, and then all that are unsettled are looked at again
    return { ...REST, verdict: { phase: 'Pending', reason, message } };
  }

  #settled(subject: PlacementSubject, memory: MoveMemory): Next {
    const { name, claim } = subject;
    const { node = '' } = claim;
    this.#moves.end(name);
    const holder = this.#part(nodeLabel(node), subject, memory);
    const isLate = isOverdue(memory, this.#options.clock.now());
    const isThere = isHeldBy(holder, isLate) || claim.withdrawn !== undefined;
    if (ANYCAST_LABEL in claim.labels) {
      const waiting = isThere ? awaitUnaware(subject, memory, this.#options) : undefined;
      if (waiting !== undefined) {
        this.rest(name);
        this.#awaiting.add(name);
        return waiting;
      }
      const write = leaveAnycast(claim.labels, isThere);
      if (write !== undefined) return { kind: 'write', write };
      // all others would withdraw it: they go on until one that shall hold it says that it announces it
      if (isLate) return this.#unanswered(subject, memory, node);
      this.#unsettled.add(name);
      return LOOK_AGAIN;
    }
    this.rest(name);
    // its refusal may be of before: what it answers to the claim as it stands is waited for
    if (holder.refusal !== undefined && holder.answer === undefined) this.#unsettled.add(name);
    if (isForgettable(memory)) this.#memories.delete(name);
    return { ...REST, verdict: EXCLUSIVE_PLACED };
  }

  #unanswered(subject: PlacementSubject, memory: MoveMemory, target: string): Next {
    this.#unsettled.add(subject.name);
    memory.avoid.set(target, this.#options.clock.now() + AVOID_MS);
    const other = this.#decide(subject, memory);
    if (other.kind === 'none' || other.node === target) {
      // who is slow may announce it any moment, and lists it then
      const { answer } = this.#part(nodeLabel(target), subject, memory);
      if (answer === 'nothing') this.#moves.end(subject.name);
      return LOOK_AGAIN;
    }
    const message = `${target} does not announce ${formatAddress(subject.claim.address)}; ${other.node} is asked instead`;
    this.#teller.warn(subject, 'NodeDoesNotAnswer', message);
    this.#options.index.hold(subject.name, other.node);
    const step = this.#step(subject, memory, other.node);
    return step.kind === 'write' ? this.#mayWrite(subject, step.write) : LOOK_AGAIN;
  }

  /** The holder says that it does not announce it: it gets its time, and then another one is asked. */
  #refused(subject: PlacementSubject): Next {
    const { clock, liveness, nodes } = this.#options;
    const { name, claim, group, demand } = subject;
    // however long it refuses it, others move meanwhile
    this.#moves.end(name);
    const { eligible } = nodes.group(group, demand);
    const nowMs = clock.now();
    const dueMs = this.#refusals.dueMs(name, patienceMs(claim), eligible);
    // who is merely kept may have said so long ago
    const isHeard = eligible.includes(claim.node ?? '');
    const isSure = isHeard && !liveness.isBlind && !liveness.isLearning;
    if (dueMs === undefined || nowMs < dueMs || !isSure) {
      // alone it waits for itself and keeps nobody from anything
      if (levelsOf(claim).size === 1) this.rest(name);
      else this.#unsettled.add(name);
      if (dueMs === undefined) return { ...REST, verdict: EXCLUSIVE_PLACED };
      const afterMs = Math.max(dueMs - nowMs, LOOK_AGAIN_MS);
      return { kind: 'rest', again: { kind: 'retry', afterMs }, verdict: EXCLUSIVE_PLACED };
    }
    const why = this.#refusals.sentence(name, claim.node ?? '');
    const message = `${claim.node} does not announce ${formatAddress(claim.address)}: ${why}`;
    this.#teller.warn(subject, 'NodeRefuses', message);
    this.#refusals.giveUp(name, eligible, nowMs);
    return this.next(subject);
  }

  /** A first place is given at once; who has one moves within limits, and not while we are blind. */
  #mayWrite(subject: PlacementSubject, write: ClaimWrite): Next {
    const { liveness, clock } = this.#options;
    const { name, claim } = subject;
    this.#unsettled.add(name);
    const way = wayOf(levelsOf(claim), write);
    const isStraight = !this.#moves.isLeaving(name) && isTaken(claim.node, write);
    const isMove = way.down !== undefined || isStraight;
    if (isMove && liveness.isBlind) return LOOK_AGAIN;
    const nowMs = clock.now();
    const mayLeave = way.down === undefined ? undefined : this.#refusals.mayLeave(claim);
    if (mayLeave === false && !this.takeTurns().includes(name)) return REST;
    const inLine = this.#moves.reserve(claim, way, nowMs);
    if (inLine !== undefined) {
      const who = `${inLine.who} ${this.#nodeOf(inLine.label)}`;
      if (inLine.isLong) this.#teller.inLine(subject, who);
      return WAIT_IN_LINE;
    }
    if (!isMove) return { kind: 'write', write };
    const waitMs = mayLeave === undefined ? this.#line.waitMs(claim, nowMs) : 0;
    if (waitMs > 0) return { kind: 'rest', again: { kind: 'retry', afterMs: waitMs } };
    this.#line.forget(name);
    return { kind: 'write', write };
  }
}
