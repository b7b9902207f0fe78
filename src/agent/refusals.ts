/** Claims that are not announced, or not to every peer, and the gate that says why. Pure. */

import { type Family, formatAddress } from 'bgp-ts';
import { namespaceInTurn } from '../model/ip-claim.ts';
import { type Carriers, sessionGate } from './carriers.ts';
import type { ClaimDecision, DesiredState, PeerDecision } from './desired.ts';
import type { Gate, GateName } from './gate.ts';

export interface ClaimRefusal {
  /** RFC 5952 */
  readonly address: string;
  readonly name: string;
  /** of the first Service behind it; empty where there is none */
  readonly namespace: string;
  readonly gate: GateName;
  readonly message: string;
  /** only this peer does without it */
  readonly peer?: string;
  /** there is no room for it */
  readonly isLimit?: true;
  /** exclusive, and this node's */
  readonly isPlaced?: true;
}

/**
 * One per claim: the first gate that is closed; where it is announced all the same, the first peer that does not get it. What a session
 * cannot carry counts as refused by its peer; a session that is down refuses nothing.
 */
export function refusalsOf({ claims }: DesiredState, carriers: Carriers): readonly ClaimRefusal[] {
  return claims.flatMap((decision) => refusalOf(decision, carriers) ?? []);
}

function refusalOf(decision: ClaimDecision, carriers: Carriers): ClaimRefusal | undefined {
  const { joined, assigned, healthy, bound, pooled, notDraining } = decision.gates;
  const own = [joined, assigned, pooled, healthy, bound, notDraining];
  const closed = own.find(({ state }) => state === 'closed');
  if (closed !== undefined) return told(decision, closed);
  const { family } = decision.subject.claim.object.address;
  let isOut = false;
  const shut: Shut[] = [];
  for (const one of decision.peers) {
    const gate = shutGate(one, family, carriers);
    if (gate !== undefined) shut.push({ peer: one.peer, gate });
    else if (one.route !== undefined) isOut = true;
  }
  const missing = shut.find(({ gate }) => gate.isLimit === true) ?? shut[0];
  if (missing === undefined) return undefined;
  const refusal = told(decision, missing.gate);
  return isOut ? { ...refusal, peer: missing.peer } : refusal;
}

interface Shut {
  readonly peer: string;
  readonly gate: Gate;
}

function shutGate(
  { peer, allowed, route }: PeerDecision,
  family: Family,
  carriers: Carriers,
): Gate | undefined {
  if (allowed.state === 'closed') return allowed;
  if (route === undefined) return undefined;
  const carried = carriers.of(peer, family);
  if (carried.kind !== 'refused') return undefined;
  const gate = sessionGate(peer, family, carried.refusal);
  // nobody else than this node knows, so nobody else can say what to do
  return { ...gate, sentence: `${gate.sentence}; ${gate.remedy}` };
}

function told({ subject }: ClaimDecision, { name: gate, sentence, isLimit }: Gate): ClaimRefusal {
  const { object } = subject.claim;
  const { address, name } = object;
  return {
    address: formatAddress(address),
    name,
    namespace: namespaceInTurn(object) ?? '',
    gate,
    message: sentence,
    ...(isLimit === true && { isLimit }),
    ...(subject.level !== undefined && { isPlaced: true }),
  };
}
