/** A claim in a few words: how many of its routes are out, and the first reason why not all are. Pure. */

import type { AgentStatus, ClaimPeerStatus, ClaimStatus, GateStatus } from '../agent/status.ts';
import type { Tone } from './style.ts';

export type RouteState = ClaimPeerStatus['route'];

export const ROUTE_TONES = {
  up: 'good',
  waiting: 'attention',
  draining: 'attention',
  none: 'bad',
} as const satisfies Record<RouteState, Tone>;

/** what is told of several: what an operator must know first */
const ORDER: readonly RouteState[] = ['draining', 'up', 'waiting'];

export interface RouteSummary {
  readonly state: RouteState;
  /** `up 2/2` */
  readonly text: string;
}

export function summarizeRoutes({ peers }: ClaimStatus): RouteSummary {
  for (const state of ORDER) {
    const count = peers.filter(({ route }) => route === state).length;
    if (count > 0) return { state, text: `${state} ${count}/${peers.length}` };
  }
  return { state: 'none', text: 'none' };
}

/**
 * The first gate that is not open, of the claim itself before those of its peers. `bound` comes last: an address is taken off its
 * interface because of another gate more often than the other way round.
 */
export function firstShutGate(claim: ClaimStatus): GateStatus | undefined {
  return firstShut([...claim.gates, ...claim.peers.flatMap(({ gates }) => gates)]);
}

export function firstShut(gates: readonly GateStatus[]): GateStatus | undefined {
  const closed = gates.filter(({ state }) => state === 'closed');
  const shut = gates.find(({ state }) => state !== 'open');
  return closed.find(({ name }) => name !== 'bound') ?? closed[0] ?? shut;
}

/** Why a route does not go out though every gate is open. */
export function describeWaiting(peer: string, { sessions }: AgentStatus): string {
  const session = sessions.find((one) => one.peer === peer);
  if (session === undefined) return `there is no session with ${peer}`;
  const why = session.refused ?? session.lastError;
  return `the session with ${peer} is ${session.state}${why === undefined ? '' : `: ${why}`}`;
}
