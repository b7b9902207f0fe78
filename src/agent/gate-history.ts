/**
 * Since when each gate has been as it is. Monotonic time; a gate that is seen for the first time begins then. Thousands of claims with many peers
 * are remembered after every decision, so one number stands for all gates of a claim that moved at once, and the same decision as before costs a look.
 */

import { type ClaimGates, claimGateList } from './claim-gates.ts';
import type { ClaimDecision, PeerDecision } from './desired.ts';
import type { Gate, GateName } from './gate.ts';

/** of each gate, in their order; one number: of all of them */
type Since = number | readonly number[];

interface Memory {
  readonly gates: readonly Gate[];
  readonly sinceMs: Since;
}

interface ClaimMemory {
  /** the last one */
  decision: ClaimDecision;
  ownMs: Since;
  /** of `allowed` at each peer */
  peersMs: Since;
  /** the last in which the claim was there */
  round: number;
}

export class GateHistory {
  readonly #memories = new Map<string, Memory>();
  readonly #claims = new Map<string, ClaimMemory>();
  #round = 0;

  /** `subject` tells apart what has gates and is no claim: the node */
  remember(subject: string, gates: readonly Gate[], nowMs: number): void {
    const known = this.#memories.get(subject);
    if (known === undefined) this.#memories.set(subject, { gates, sinceMs: nowMs });
    else if (!isUnmoved(gates, known.gates)) {
      const sinceMs = gates.map((gate) => sinceOf(known, gate) ?? nowMs);
      this.#memories.set(subject, { gates, sinceMs });
    }
  }

  /** What was decided on every claim; claims and peers that are not in it any more are forgotten, since they come and go. */
  rememberAll(decisions: readonly ClaimDecision[], nowMs: number): void {
    this.#round += 1;
    for (const decision of decisions) this.#rememberOne(decision, nowMs);
    if (this.#claims.size === decisions.length) return;
    for (const [name, { round }] of this.#claims) {
      if (round !== this.#round) this.#claims.delete(name);
    }
  }

  #rememberOne(decision: ClaimDecision, nowMs: number): void {
    const { name } = decision.subject.claim.object;
    const known = this.#claims.get(name);
    if (known === undefined) {
      const since = { ownMs: nowMs, peersMs: nowMs };
      this.#claims.set(name, { decision, ...since, round: this.#round });
      return;
    }
    known.round = this.#round;
    const before = known.decision;
    if (before === decision) return;
    known.ownMs = ownSince(before.gates, decision.gates, known.ownMs, nowMs);
    known.peersMs = peersSince(before.peers, decision.peers, known.peersMs, nowMs);
    known.decision = decision;
  }

  /** `peer`: of `allowed` there; `subject` is a claim then */
  sinceMs(subject: string, name: GateName, peer?: string): number | undefined {
    const claim = this.#claims.get(subject);
    if (claim === undefined) {
      const known = this.#memories.get(subject);
      return known && at(known.sinceMs, known.gates, (gate) => gate.name === name);
    }
    const { decision, ownMs, peersMs } = claim;
    if (peer !== undefined) return at(peersMs, decision.peers, (each) => each.peer === peer);
    return at(ownMs, claimGateList(decision.gates), (gate) => gate.name === name);
  }
}

function at<T>(since: Since, list: readonly T[], isIt: (one: T) => boolean): number | undefined {
  const index = list.findIndex(isIt);
  return index < 0 ? undefined : nth(since, index);
}

function nth(since: Since, index: number): number | undefined {
  return typeof since === 'number' ? since : since[index];
}

/** the gates of a claim are always the same six, in the same order */
function ownSince(before: ClaimGates, now: ClaimGates, since: Since, nowMs: number): Since {
  const isSame =
    before.joined.state === now.joined.state &&
    before.assigned.state === now.assigned.state &&
    before.healthy.state === now.healthy.state &&
    before.bound.state === now.bound.state &&
    before.pooled.state === now.pooled.state &&
    before.notDraining.state === now.notDraining.state;
  if (isSame) return since;
  const last = claimGateList(before);
  return claimGateList(now).map((gate, index) =>
    gate.state === last[index]?.state ? (nth(since, index) ?? nowMs) : nowMs,
  );
}

function peersSince(
  before: readonly PeerDecision[],
  now: readonly PeerDecision[],
  since: Since,
  nowMs: number,
): Since {
  if (arePeersUnmoved(before, now)) return since;
  return now.map(({ peer, allowed: { state } }) => {
    const index = before.findIndex((last) => last.peer === peer && last.allowed.state === state);
    return index < 0 ? nowMs : (nth(since, index) ?? nowMs);
  });
}

function arePeersUnmoved(before: readonly PeerDecision[], now: readonly PeerDecision[]): boolean {
  if (before.length !== now.length) return false;
  for (let index = 0; index < now.length; index += 1) {
    const [last, one] = [before[index], now[index]];
    if (last?.peer !== one?.peer || last?.allowed.state !== one?.allowed.state) return false;
  }
  return true;
}

function isUnmoved(a: readonly Gate[], b: readonly Gate[]): boolean {
  if (a.length !== b.length) return false;
  return a.every(({ name, state }, index) => state === b[index]?.state && name === b[index]?.name);
}

/** undefined when the gate was in another state, or not there */
function sinceOf({ gates, sinceMs }: Memory, { name, state }: Gate): number | undefined {
  return at(sinceMs, gates, (gate) => gate.name === name && gate.state === state);
}
