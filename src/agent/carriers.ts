/**
 * Which sessions carry what. A route that is wanted is out only where a session with its peer is up, has been told all once, and takes
 * routes of its family: a router that did not agree on IPv6, or a session without an IPv6 next hop, is up and carries none. Pure. Facts only:
 * they change what people and the controller are told, never what is wanted.
 */

import { FAMILIES, type Family, type PeerStatus, type RefusedRoute } from 'bgp-ts';
import type { ClaimDecision } from './desired.ts';
import type { Gate } from './gate.ts';

export type CarryRefusal = Pick<RefusedRoute, 'reason' | 'detail'>;

export type Carried =
  | { readonly kind: 'carried' }
  /** no session is up */
  | { readonly kind: 'down' }
  /** sessions are up, and none takes routes of this family */
  | { readonly kind: 'refused'; readonly refusal: CarryRefusal };

export interface Carriers {
  /** equal texts: every answer is the same */
  readonly signature: string;
  of(peer: string, family: Family): Carried;
}

/** What is known of one session. */
export interface SessionCarrying {
  /** it has been told everything once since it came up */
  isTold(session: string): boolean;
  refusal(session: string, family: Family): CarryRefusal | undefined;
}

const CARRIED: Carried = { kind: 'carried' };
const DOWN: Carried = { kind: 'down' };

export function carriersOf(
  sessions: readonly Pick<PeerStatus, 'name' | 'state'>[],
  facts: SessionCarrying,
): Carriers {
  const up = sessions
    .filter(({ name, state }) => state === 'established' && facts.isTold(name))
    .map(({ name }) => name);
  const known = new Map<string, Carried>();
  return {
    signature: up.map((name) => `${name} ${refusedFamilies(name, facts)}`).join('\n'),
    of: (peer, family) => {
      const key = `${peer} ${family}`;
      const found = known.get(key) ?? carriedBy(sessionsWith(peer, up), family, facts);
      known.set(key, found);
      return found;
    },
  };
}

function refusedFamilies(session: string, facts: SessionCarrying): string {
  const of = (family: Family) => facts.refusal(session, family)?.reason ?? '';
  return FAMILIES.map((family) => `${family}:${of(family)}`).join(' ');
}

/** a range has a session per neighbour, each with a name of its own */
function sessionsWith(peer: string, up: readonly string[]): readonly string[] {
  return up.filter((name) => name === peer || name.startsWith(`${peer}/`));
}

function carriedBy(up: readonly string[], family: Family, facts: SessionCarrying): Carried {
  if (up.length === 0) return DOWN;
  const refusals = up.map((name) => facts.refusal(name, family));
  const [first] = refusals;
  const isRefused = first !== undefined && refusals.every((one) => one !== undefined);
  return isRefused ? { kind: 'refused', refusal: first } : CARRIED;
}

/** Some router has it, or had it until the decision that is on its way. */
export function isCarried({ subject, peers }: ClaimDecision, carriers: Carriers): boolean {
  const { family } = subject.claim.object.address;
  return peers.some(
    ({ peer, route }) => route !== undefined && carriers.of(peer, family).kind === 'carried',
  );
}

/** The peer's half of the gate as only a session can know it. */
export function sessionGate(peer: string, family: Family, refusal: CarryRefusal): Gate {
  const sentence = `${peer}: ${refusal.detail}`;
  const remedy = carryRemedy(peer, family, refusal);
  return { name: 'allowed', state: 'closed', sentence, remedy };
}

export function carryRemedy(peer: string, family: Family, { reason }: CarryRefusal): string {
  if (reason === 'family-not-negotiated') {
    return `turn on ${family} for this neighbour at the router`;
  }
  if (reason === 'next-hop-not-usable' && family === 'ipv4') {
    return `turn on extended next hop (RFC 8950) for this neighbour at the router, or remove extendedNextHop of BGPPeer ${peer}`;
  }
  return `give the interface of the session an ${family} address, or set nextHop.${family} of BGPPeer ${peer}`;
}
