/**
 * When claims may move: each that asks is given a time, by the rate that all share. A time that
 * comes goes to the claim whose turn it is then, namespaces in turn (docs/decisions/0060), and who
 * came for it has that one's time: thousands of one namespace that asked before keep nobody
 * waiting. Not which node has room for a move (placement-leaving.ts). No I/O.
 */

import { type IpClaim, namespaceInTurn } from '../model/ip-claim.ts';
import type { MoveBudget } from '../scheduler/move-rate.ts';
import { NamespaceTurns } from '../sources/kube/namespace-turns.ts';

type Claim = Pick<IpClaim, 'name' | 'services'>;

export class MoveLine {
  readonly #budget: MoveBudget;
  readonly #requeue: (name: string) => void;
  /** by claim, until it moves or rests */
  readonly #dueMs = new Map<string, number>();
  /** those that may not go yet, each to be looked at again when its time comes */
  readonly #waiting = new NamespaceTurns();

  constructor(budget: MoveBudget, requeue: (name: string) => void) {
    this.#budget = budget;
    this.#requeue = requeue;
  }

  /** How long it has to wait; 0: it may go, and may until it is forgotten. */
  waitMs(claim: Claim, nowMs: number): number {
    const { name } = claim;
    let dueMs = this.#dueMs.get(name) ?? this.#join(claim, nowMs);
    while (dueMs <= nowMs && this.#waiting.has(name)) dueMs = this.#callNext(name, dueMs);
    return Math.max(dueMs - nowMs, 0);
  }

  forget(name: string): void {
    this.#dueMs.delete(name);
    this.#waiting.delete(name);
  }

  #join({ name, services }: Claim, nowMs: number): number {
    const dueMs = this.#budget.reserve(nowMs);
    this.#dueMs.set(name, dueMs);
    if (dueMs > nowMs) this.#waiting.add(name, namespaceInTurn({ services }) ?? '');
    return dueMs;
  }

  /** Its time goes to the next in line. Returned is the time that it has in its place. */
  #callNext(name: string, dueMs: number): number {
    const next = this.#waiting.take();
    if (next === name) return dueMs;
    const otherMs = this.#dueMs.get(next) ?? dueMs;
    this.#dueMs.set(next, dueMs);
    this.#dueMs.set(name, otherMs);
    this.#requeue(next);
    return otherMs;
  }
}
