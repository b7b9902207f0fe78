/**
 * Counts how often a node was told to hold an exclusive claim (docs/decisions/0038). Pure. The count begins at the seconds since 2024, not at 0: a
 * claim that is deleted and made anew, or loses its annotation, comes to no number that a node has which was cut off before, since no claim moves
 * once a second for all its life. They fit until 2066.
 */

import { epochOf, HIGHEST_EPOCH } from '../model/convert-claim.ts';
import type { Labels } from '../model/labels.ts';
import { isNodeLabel } from '../model/names.ts';

/** 2024-01-01T00:00:00Z */
const BEGIN_MS = 1_704_067_200_000;

export interface CountedClaim {
  readonly labels: Labels;
  readonly annotations: Labels;
  /** by the API server's clock: ours may be wrong */
  readonly createdMs: number;
}

/** What the annotation shall be after this write of labels; undefined: as it is. */
export function epochAfter(
  { labels, annotations, createdMs }: CountedClaim,
  write: Readonly<Record<string, string | null>>,
  wallMs: number,
): string | undefined {
  const isNew = Object.entries(write).some(
    ([label, value]) => isNodeLabel(label) && value === '0' && labels[label] !== '0',
  );
  if (!isNew) return undefined;
  const epoch = epochOf(annotations) ?? HIGHEST_EPOCH;
  return String(epoch < HIGHEST_EPOCH ? epoch + 1 : firstEpoch(Math.max(createdMs, wallMs)));
}

function firstEpoch(atMs: number): number {
  const seconds = Math.floor((atMs - BEGIN_MS) / 1000);
  return Math.min(Math.max(seconds, 1), HIGHEST_EPOCH);
}
