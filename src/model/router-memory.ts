/**
 * How long the routers of a node may keep what it announced after its last sign of life. Pure. A dead node cannot step down: its path stays
 * until the hold time that both sides agreed on is over (BIRD: up to 3 s more), or, where graceful restart was agreed on and the
 * connection was closed, for the restart time. Until then nobody else may stand at the same preference.
 */

import type { BgpPeer } from './bgp-peer.ts';
import type { IpNode, IpNodeSession } from './ip-node.ts';

/** how late routers are, seen with BIRD 2 */
export const ROUTER_LATE_SECONDS = 3;

/** milliseconds; 0: it has no session that anybody knows of; Infinity: a session without hold time, which no router ends by itself */
export function routersKeepMs(
  { status }: Pick<IpNode, 'status'>,
  peerOf: (name: string) => Pick<BgpPeer, 'timers' | 'gracefulRestart'> | undefined,
): number {
  const sessions = status.sessions ?? [];
  const longest = Math.max(0, ...sessions.map((session) => keepsSeconds(session, peerOf)));
  return longest === 0 ? 0 : (longest + ROUTER_LATE_SECONDS) * 1000;
}

/** The same of a node that lives and has no session: milliseconds from when that was seen; 0: its routers have dropped its routes. */
export function keptAfterMs(sessions: readonly IpNodeSession[]): number {
  const longest = Math.max(0, ...sessions.map(({ keptSeconds = 0 }) => keptSeconds));
  return longest === 0 ? 0 : (longest + ROUTER_LATE_SECONDS) * 1000;
}

/** A session that says nothing (of a 0.1 agent, or one that is down) is taken to be as long as its BGPPeer allows. */
function keepsSeconds(
  { peer, state, holdSeconds, restartSeconds = 0, keptSeconds = 0 }: IpNodeSession,
  peerOf: Parameters<typeof routersKeepMs>[1],
): number {
  if (holdSeconds !== undefined) return Math.max(agreed(holdSeconds), restartSeconds);
  // a neighbour of a range is named `peer/address`
  const [name = ''] = peer.split('/');
  const spec = peerOf(name);
  if (spec === undefined) return keptSeconds;
  const hold = state === 'Established' ? agreed(spec.timers.holdSeconds) : spec.timers.holdSeconds;
  return Math.max(hold, spec.gracefulRestart?.restartSeconds ?? 0, keptSeconds);
}

function agreed(holdSeconds: number): number {
  return holdSeconds === 0 ? Number.POSITIVE_INFINITY : holdSeconds;
}
