/**
 * Conditions as Kubernetes wants them: one per type, lastTransitionTime moves only with the status, an equal one is not written
 * again. Pure; the wall clock's text comes in.
 */

import type { Condition } from '../model/service.ts';

export interface WantedCondition {
  readonly type: string;
  readonly status: Condition['status'];
  /** one word for machines; a condition is written again when it, or the status, changes */
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

/** the schema's own bound is higher; nobody reads more */
const MAX_MESSAGE = 1024;

/** The condition as it shall be written, or undefined where the one that stands there says the same, word for word. */
export function changedCondition(
  standing: readonly Condition[],
  wanted: WantedCondition,
  nowMs: number,
): Condition | undefined {
  const before = standing.find(({ type }) => type === wanted.type);
  const message = shortened(wanted.message);
  if (
    before !== undefined &&
    before.status === wanted.status &&
    before.reason === wanted.reason &&
    before.message === message &&
    before.observedGeneration === wanted.observedGeneration
  ) {
    return undefined;
  }
  const hasMoved = before?.status !== wanted.status || before.lastTransitionTime === undefined;
  return {
    ...wanted,
    message,
    lastTransitionTime: hasMoved ? timeText(nowMs) : before.lastTransitionTime,
  };
}

/** `standing` with `condition` in place of the one of its type */
export function withCondition(
  standing: readonly Condition[],
  condition: Condition,
): readonly Condition[] {
  const isThere = standing.some(({ type }) => type === condition.type);
  if (!isThere) return [...standing, condition];
  return standing.map((each) => (each.type === condition.type ? condition : each));
}

/** whole seconds, as Kubernetes keeps the times of conditions */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - 1)}…`;
}
