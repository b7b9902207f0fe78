/**
 * Since when each gate has been as it is. Monotonic time; a gate that is seen for the first time begins then. Thousands of
 * claims are remembered after every decision, so a subject whose gates have not moved costs one lookup.
 */

import type { Gate, GateName } from './gate.ts';

interface Memory {
  gates: readonly Gate[];
  /** of each gate, in the same order */
  sinceMs: readonly number[];
  /** the round in which it was seen last */
  round: number;
}

export class GateHistory {
  readonly #memories = new Map<string, Memory>();
  #round = 0;
  #seen = 0;

  /** `subject` tells apart what has gates: a claim, a claim at a peer, the node */
  remember(subject: string, gates: readonly Gate[], nowMs: number): void {
    this.#seen += 1;
    const known = this.#memories.get(subject);
    if (known === undefined) {
      const sinceMs = gates.map(() => nowMs);
      this.#memories.set(subject, { gates, sinceMs, round: this.#round });
      return;
    }
    known.round = this.#round;
    if (isUnmoved(gates, known.gates)) return;
    known.sinceMs = gates.map((gate) => sinceOf(known, gate) ?? nowMs);
    known.gates = gates;
  }

  sinceMs(subject: string, name: GateName): number | undefined {
    const known = this.#memories.get(subject);
    const index = known?.gates.findIndex((gate) => gate.name === name) ?? -1;
    return known?.sinceMs[index];
  }

  /** the end of a round: who was not seen in it is forgotten, since claims come and go */
  endRound(): void {
    if (this.#memories.size > this.#seen) {
      for (const [subject, { round }] of this.#memories) {
        if (round !== this.#round) this.#memories.delete(subject);
      }
    }
    this.#round += 1;
    this.#seen = 0;
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
