/** Claims that are not announced, or not to every peer, and the gate that says why. Pure. */

import { formatAddress } from 'bgp-ts';
import { isAnnounced } from './departures.ts';
import type { ClaimDecision, DesiredState } from './desired.ts';
import type { Gate, GateName } from './gate.ts';

export interface ClaimRefusal {
  /** RFC 5952 */
  readonly address: string;
  readonly name: string;
  readonly gate: GateName;
  readonly message: string;
  /** only this peer does without it */
  readonly peer?: string;
  /** there is no room for it */
  readonly isLimit?: true;
}

/** One per claim: the first gate that is closed; where it is announced all the same, the first peer that does not get it. */
export function refusalsOf({ claims }: DesiredState): readonly ClaimRefusal[] {
  return claims.flatMap((decision) => refusalOf(decision) ?? []);
}

function refusalOf(decision: ClaimDecision): ClaimRefusal | undefined {
  const { joined, assigned, healthy, bound, pooled, notDraining } = decision.gates;
  const own = [joined, assigned, pooled, healthy, bound, notDraining];
  const shut = own.find(({ state }) => state === 'closed');
  if (shut !== undefined) return told(decision, shut);
  const shutPeers = decision.peers.filter(({ allowed }) => allowed.state === 'closed');
  const missing = shutPeers.find(({ allowed }) => allowed.isLimit === true) ?? shutPeers[0];
  if (missing === undefined) return undefined;
  const refusal = told(decision, missing.allowed);
  return isAnnounced(decision) ? { ...refusal, peer: missing.peer } : refusal;
}

function told({ subject }: ClaimDecision, { name: gate, sentence, isLimit }: Gate): ClaimRefusal {
  const { address, name } = subject.claim.object;
  const limit = isLimit === true ? { isLimit } : {};
  return { address: formatAddress(address), name, gate, message: sentence, ...limit };
}
