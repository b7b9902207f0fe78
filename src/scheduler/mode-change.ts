/**
 * The labels of a claim that all nodes may announce, and the way there and back. Pure. Who changes its mode never loses its routes: the
 * new place is given first, and the old one is taken away once the new one is there.
 */

import type { Labels } from '../model/labels.ts';
import { ANYCAST_LABEL, isNodeLabel, type PreferenceLevel } from '../model/names.ts';
import type { MoveWrite } from './move.ts';

/**
 * spec.node and labels as an anycast claim shall have them; undefined: they are so. Two writes: the
 * second one waits until the others have had their time (placement-mode.ts).
 */
export function anycastWrite(
  labels: Labels,
  node: string | undefined,
): (Omit<MoveWrite, 'node'> & { readonly node?: null }) | undefined {
  if (!(ANYCAST_LABEL in labels)) {
    return { labels: { [ANYCAST_LABEL]: '' }, sentence: 'every node may announce it' };
  }
  const left = Object.keys(labels).filter(isNodeLabel);
  if (left.length === 0 && node === undefined) return undefined;
  return {
    node: null,
    labels: Object.fromEntries(left.map((label) => [label, null])),
    sentence: 'no node holds it any more',
  };
}

/** What its holder has told of it. */
export interface HolderWord {
  readonly answer?: PreferenceLevel | 'nothing';
  readonly refusal?: object;
  /** it refuses more than it lists */
  readonly isCutShort?: boolean;
}

/**
 * It says at which level it announces it. An agent of 0.1 tells none as long as all may announce it: that it has taken the claim up and refuses nothing is as
 * much, when it has had its time.
 */
export function isHeldBy({ answer, refusal, isCutShort }: HolderWord, isLate: boolean): boolean {
  if (answer !== 'nothing') return answer !== undefined;
  return isLate && refusal === undefined && isCutShort !== true;
}

/** A claim that became exclusive: all others stop once its holder announces it as one. */
export function leaveAnycast(
  labels: Labels,
  hasHolderAnswered: boolean,
): Omit<MoveWrite, 'node'> | undefined {
  if (!(ANYCAST_LABEL in labels) || !hasHolderAnswered) return undefined;
  return { labels: { [ANYCAST_LABEL]: null }, sentence: 'its holder alone announces it' };
}
