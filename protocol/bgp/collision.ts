/**
 * Which of two connections to one neighbour survives (RFC 4271 §6.8, RFC 6286 §2.3).
 *
 * The rule in one sentence: the connection that was dialled by the speaker with the larger BGP Identifier stays, unless the
 * other one is Established already. The two ends see different orders of events, so the letter of the RFC alone can make
 * each close the connection that the other keeps. How peer.ts keeps them in agreement:
 *
 * - An OPEN on one connection decides, against a connection that is in OpenConfirm. A connection in OpenSent is left alone:
 *   its own OPEN will decide, or never come.
 * - Against an Established session a connection that would lose is closed at once. One that would win is not answered: the
 *   session stays, and the neighbour, which has our OPEN on both, shows what it chose. If it saw the session Established too
 *   it closes the new connection (§6.8). If it had decided before, it drops the session or sends KEEPALIVE on the new
 *   connection, and then the OPEN that was put aside counts. If nothing comes, the new connection is closed after a while.
 * - An attempt on which our OPEN has not been sent is given up as soon as the other connection is in OpenConfirm. The
 *   neighbour cannot have decided in its favour, for it has seen no OPEN on it.
 * - A connection that the neighbour dials when a session is Established gets no OPEN at all (unless graceful restart says
 *   that the old session is dead), so it cannot win on the other end either.
 */

import type { ConnectionState } from './connection-state.ts';
import type { Negotiated } from './negotiate.ts';
import type { Side } from './session.ts';

/** The side of the connection that stays: `out` if we are the one with precedence. */
export function survivingSide(negotiated: Negotiated): Side {
  const { localRouterId, peerRouterId, localAsn, peerAsn } = negotiated;
  if (localRouterId !== peerRouterId) return localRouterId > peerRouterId ? 'out' : 'in';
  // equal identifiers are allowed between different autonomous systems; the larger number has precedence (RFC 6286 §2.3)
  return localAsn > peerAsn ? 'out' : 'in';
}

/** OPENs have been exchanged: the connection takes part in collisions and makes other attempts pointless. */
export function isLive(state: ConnectionState): boolean {
  return state.kind === 'open-confirm' || state.kind === 'established';
}

/**
 * RFC 4724 §5: a neighbour that dials while we think its session is Established has restarted, if it said that it would do
 * that gracefully, for a family at least: a capability without families only offers help to others. The old connection is
 * then dropped without a NOTIFICATION. A session younger than a keepalive interval does not fall to that: the new connection
 * may be a dial that crossed ours and that the neighbour has given up already. (With hold time 0 there is no such interval,
 * and the end of a dead session is left to TCP.)
 */
export function isReplacedByNewConnection(state: ConnectionState): boolean {
  if (state.kind !== 'established') return false;
  const families = state.negotiated.peerGracefulRestart?.families ?? [];
  return state.isSettled && families.length > 0;
}
