/**
 * The status as JSON, claim by claim: a node with 15,000 claims and 8 peers has 100 MB of it. Pure.
 *
 * `once`: of each peer's gates only those that differ from the claim's own, for readers who know (`withAllGates`). It is a fifth of the whole.
 */

import type { AgentStatus, ClaimPeerStatus, ClaimStatus, StatusDocument } from '../agent/status.ts';

export type GateForm = 'all' | 'once';

/** what a reader puts behind /status and /watch; an agent of 0.1 takes no notice, and tells all */
export const GATES_ONCE = '?gates=once';

export function gateForm(query: string): GateForm {
  return new URLSearchParams(query).get('gates') === 'once' ? 'once' : 'all';
}

/** Joined, they are one line of JSON. */
export function* statusPieces(document: StatusDocument, form: GateForm): Generator<string> {
  const { claims, faults, warnings, ...head } = document;
  yield `${JSON.stringify(head).slice(0, -1)},"claims":[`;
  let between = '';
  for (const claim of claims) {
    yield `${between}${JSON.stringify(form === 'once' ? withGatesOnce(claim) : claim)}`;
    between = ',';
  }
  yield '],"faults":[';
  yield* items(faults);
  yield '],"warnings":[';
  yield* items(warnings);
  yield ']}\n';
}

function* items(list: readonly unknown[]): Generator<string> {
  for (const [index, item] of list.entries()) {
    yield `${index === 0 ? '' : ','}${JSON.stringify(item)}`;
  }
}

function withGatesOnce(claim: ClaimStatus): ClaimStatus {
  const own = new Set(claim.gates);
  const peers = claim.peers.map((peer) => ({
    ...peer,
    gates: peer.gates.filter((gate) => !own.has(gate)),
  }));
  return { ...claim, peers };
}

/** Every peer with all gates, however they were told. */
export function withAllGates(status: AgentStatus): AgentStatus {
  return { ...status, claims: status.claims.map(wholeClaim) };
}

function wholeClaim(claim: ClaimStatus): ClaimStatus {
  const { gates, peers } = claim;
  if (peers.every((peer) => peer.gates.length >= gates.length)) return claim;
  return { ...claim, peers: peers.map((peer) => wholePeer(peer, gates)) };
}

function wholePeer(peer: ClaimPeerStatus, gates: ClaimStatus['gates']): ClaimPeerStatus {
  const whole = gates.map((gate) => peer.gates.find(({ name }) => name === gate.name) ?? gate);
  return { ...peer, gates: whole };
}
