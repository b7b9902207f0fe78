/**
 * The status of a claim: placed, waiting or refused. Pure. Every agent watches claims, so it is written when an exclusive claim is placed or
 * any is refused for the first time and not with every move: who holds it says spec.node. An anycast claim that is well has none: its
 * label says it (model/claim-phase.ts).
 */

import { OUT_OF_SERVICE_TAINT } from '../model/names.ts';
import type { Condition } from '../model/service.ts';
import { changedCondition, type WantedCondition, withCondition } from './conditions.ts';

export type ClaimPhase = 'Pending' | 'Placed' | 'Refused';

export interface PlacementVerdict {
  readonly phase: ClaimPhase;
  /** one word in CamelCase */
  readonly reason: string;
  readonly message: string;
}

export const ANYCAST_PLACED: PlacementVerdict = {
  phase: 'Placed',
  reason: 'Anycast',
  message: 'every node that can serve it announces it',
};
export const EXCLUSIVE_PLACED: PlacementVerdict = {
  phase: 'Placed',
  reason: 'Exclusive',
  message: 'one node holds it: spec.node',
};

const MOST_NAMED = 3;

/**
 * It is to be exclusive, and some that announce it may not know. Each agent reads it, so it is
 * written once and names those of that moment.
 */
export function stillAnycast(holder: string, unaware: readonly string[]): PlacementVerdict {
  const names = unaware.slice(0, MOST_NAMED).join(', ');
  const more = unaware.length > MOST_NAMED ? ` and ${unaware.length - MOST_NAMED} more` : '';
  const message = `all nodes announce it until each of them reaches the API, and then ${holder} alone (${names}${more} did not when this was written); delete the Node of a machine that is off, or taint it ${OUT_OF_SERVICE_TAINT}`;
  return { phase: PLACED, reason: 'AwaitingNodes', message };
}

const PLACED = 'Placed';

export interface StandingStatus {
  readonly generation: number;
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly Condition[];
}

/** undefined: it says so already */
export function claimStatus(
  { status, conditions }: StandingStatus,
  verdict: PlacementVerdict,
  nowMs: number,
): { readonly phase: ClaimPhase; readonly conditions: readonly Condition[] } | undefined {
  const { phase, reason, message } = verdict;
  const before = conditions.find(({ type }) => type === PLACED);
  const hasNone = status['phase'] === undefined && before === undefined;
  if (verdict === ANYCAST_PLACED && hasNone) return undefined;
  const wanted: WantedCondition = {
    type: PLACED,
    status: phase === 'Placed' ? 'True' : 'False',
    reason,
    message,
  };
  // other words for the same verdict are not worth a write that goes to every node
  if (status['phase'] === phase && before?.reason === reason) return undefined;
  const change = changedCondition(conditions, wanted, nowMs);
  if (change === undefined && status['phase'] === phase) return undefined;
  return {
    phase,
    conditions: change === undefined ? conditions : withCondition(conditions, change),
  };
}
