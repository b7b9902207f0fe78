/**
 * Since when each gate has been as it is. Monotonic time; a gate that is seen for the first time begins then. Thousands of
 * claims are remembered after every decision, so what has not moved costs one comparison, and what is the same decision as before none.
 */

import { claimGateList } from './claim-gates.ts';
import type { ClaimDecision } from './desired.ts';
import type { Gate, GateName } from './gate.ts';

interface Memory {
  readonly gates: readonly Gate[];
  /** of each gate, in the same order */
  readonly sinceMs: readonly number[];
}

export class GateHistory {
  readonly #memories = new Map<string, Memory>();
  /** of the last round, in its order */
  #decisions: readonly ClaimDecision[] = [];

  /** `subject` tells apart what has gates: a claim, a claim at a peer, the node */
  remember(subject: string, gates: readonly Gate[], nowMs: number): void {
    const known = this.#memories.get(subject);
    if (known === undefined) {
      this.#memories.set(subject, { gates, sinceMs: gates.map(() => nowMs) });
      return;
    }
    if (isUnmoved(gates, known.gates)) return;
    const sinceMs = gates.map((gate) => sinceOf(known, gate) ?? nowMs);
    this.#memories.set(subject, { gates, sinceMs });
  }

  /** What was decided on every claim; claims and peers that are not in it any more are forgotten, since they come and go. */
  rememberAll(decisions: readonly ClaimDecision[], nowMs: number): void {
    const before = this.#decisions;
    this.#decisions = decisions;
    let start = 0;
    while (start < decisions.length && decisions[start] === before[start]) start += 1;
    // most rounds differ in a few; what comes behind those is mostly what came before
    const last = new Map(before.slice(start).map((one) => [one.subject.claim.object.name, one]));
    for (let index = start; index < decisions.length; index += 1) {
      const decision = decisions[index];
      if (decision !== undefined) this.#rememberOne(decision, last, nowMs);
    }
    for (const [name, gone] of last) {
      this.#memories.delete(name);
      this.#forgetPeers(gone, undefined);
    }
  }

  /** takes what it has seen out of `last` */
  #rememberOne(decision: ClaimDecision, last: Map<string, ClaimDecision>, nowMs: number): void {
    const { name } = decision.subject.claim.object;
    const before = last.get(name);
    last.delete(name);
    if (before === decision) return;
    this.remember(name, claimGateList(decision.gates), nowMs);
    for (const { peer, allowed } of decision.peers) {
      this.remember(`${name} ${peer}`, [allowed], nowMs);
    }
    if (before !== undefined) this.#forgetPeers(before, decision);
  }

  sinceMs(subject: string, name: GateName): number | undefined {
    const known = this.#memories.get(subject);
    const index = known?.gates.findIndex((gate) => gate.name === name) ?? -1;
    return known?.sinceMs[index];
  }

  #forgetPeers(last: ClaimDecision, decision: ClaimDecision | undefined): void {
    const { name } = last.subject.claim.object;
    for (const [index, { peer }] of last.peers.entries()) {
      if (decision?.peers[index]?.peer === peer) continue;
      if (decision?.peers.some((other) => other.peer === peer) === true) continue;
      this.#memories.delete(`${name} ${peer}`);
    }
  }
}

function isUnmoved(a: readonly Gate[], b: readonly Gate[]): boolean {
  if (a.length !== b.length) return false;
  return a.every(({ name, state }, index) => state === b[index]?.state && name === b[index]?.name);
}

/** undefined when the gate was in another state, or not there */
function sinceOf({ gates, sinceMs }: Memory, { name, state }: Gate): number | undefined {
  return sinceMs[gates.findIndex((gate) => gate.name === name && gate.state === state)];
}
