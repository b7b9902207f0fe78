/** Since when each gate has been as it is. Monotonic time; a gate that is asked about for the first time begins now. */

import type { Gate, GateName, GateState } from './gate.ts';

interface Moment {
  readonly state: GateState;
  readonly sinceMs: number;
}

export class GateHistory {
  readonly #moments = new Map<string, Moment>();
  #seen = new Set<string>();

  /** `subject` tells apart what has gates: a claim, a claim at a peer, the node */
  sinceMs(subject: string, gate: Gate, nowMs: number): number {
    const key = `${subject} ${gate.name}`;
    this.#seen.add(key);
    const known = this.#moments.get(key);
    if (known !== undefined && known.state === gate.state) return known.sinceMs;
    this.#moments.set(key, { state: gate.state, sinceMs: nowMs });
    return nowMs;
  }

  /** without asking for it to be kept */
  peek(subject: string, name: GateName): number | undefined {
    return this.#moments.get(`${subject} ${name}`)?.sinceMs;
  }

  /** what was not asked about since the last call is forgotten: claims come and go */
  forgetUnseen(): void {
    for (const key of this.#moments.keys()) if (!this.#seen.has(key)) this.#moments.delete(key);
    this.#seen = new Set();
  }
}
