/**
 * Which of two agents that go by one node name is the one (SEEDS A3, A13). Pure.
 *
 * The IPNode carries the id of the instance that writes it. An id is made once per machine and kept on its disk, so a restart is the same
 * instance and never waits. Another instance that finds it taken asks, by an annotation, and the one that has it answers by
 * removing the question; whom nobody answers takes over. So the first stays, a second one refuses, and a machine that died or was
 * made anew is replaced within a minute.
 */

import type { Labels } from '../../model/labels.ts';

export const INSTANCE_ANNOTATION = 'herald.dev/instance';
export const ASKS_ANNOTATION = 'herald.dev/instance-asks';

/** the one that has it looks at its IPNode at least this often */
export const LOOK_MS = 30_000;
/** so that an answer has had the time to come, twice over the spread of the looks */
export const ANSWER_MS = 45_000;
/** a second one asks again: the first may have gone */
export const ASK_AGAIN_MS = 120_000;

export type Standing =
  /** it is ours */
  | { readonly kind: 'ours' }
  /** another one has it, and has been asked at this moment */
  | { readonly kind: 'asking'; readonly other: string; readonly askedMs: number }
  /** another one has it and has answered then */
  | { readonly kind: 'refused'; readonly other: string; readonly answeredMs: number };

/** What to write, if anything; all of it is guarded by the resourceVersion of what was read. */
export type Move = 'nothing' | 'take' | 'ask' | 'answer';

export function nextStanding(
  before: Standing | undefined,
  annotations: Labels,
  { id, nowMs }: { readonly id: string; readonly nowMs: number },
): { readonly standing: Standing; readonly move: Move } {
  const other = annotations[INSTANCE_ANNOTATION] ?? '';
  const asks = annotations[ASKS_ANNOTATION];
  if (other === id) {
    return { standing: { kind: 'ours' }, move: asks === undefined ? 'nothing' : 'answer' };
  }
  if (other === '') return { standing: { kind: 'ours' }, move: 'take' };
  const asking: Standing = { kind: 'asking', other, askedMs: nowMs };
  const isNew = before === undefined || before.kind === 'ours' || before.other !== other;
  if (isNew) return { standing: asking, move: 'ask' };
  if (before.kind === 'refused') {
    const isTime = nowMs - before.answeredMs >= ASK_AGAIN_MS;
    return isTime ? { standing: asking, move: 'ask' } : { standing: before, move: 'nothing' };
  }
  if (asks !== id) {
    return { standing: { kind: 'refused', other, answeredMs: nowMs }, move: 'nothing' };
  }
  const isLeft = nowMs - before.askedMs >= ANSWER_MS;
  return isLeft
    ? { standing: { kind: 'ours' }, move: 'take' }
    : { standing: before, move: 'nothing' };
}

/** the annotations of a merge patch; null removes */
export function annotationsOf(move: Move, id: string): Readonly<Record<string, string | null>> {
  switch (move) {
    case 'take':
      return { [INSTANCE_ANNOTATION]: id, [ASKS_ANNOTATION]: null };
    case 'ask':
      return { [ASKS_ANNOTATION]: id };
    case 'answer':
      return { [ASKS_ANNOTATION]: null };
    case 'nothing':
      return {};
  }
}

/** why this instance does not count; undefined: it does */
export function objection(standing: Standing | undefined, node: string): string | undefined {
  switch (standing?.kind) {
    case undefined:
    case 'ours':
      return undefined;
    case 'asking':
      return `another agent (instance ${standing.other}) has written IPNode ${node}; whether it is still there is being asked, for up to ${ANSWER_MS / 1000} s`;
    case 'refused':
      return `another agent (instance ${standing.other}) is this node: two machines go by the name ${node}; rename one of them (--node-name)`;
  }
}
