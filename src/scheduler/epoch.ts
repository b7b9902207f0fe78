/** Counts how often a node was told to hold an exclusive claim (docs/decisions/0038). Pure. */

import { epochOf } from '../model/convert-claim.ts';
import type { Labels } from '../model/labels.ts';
import { isNodeLabel } from '../model/names.ts';

/** What the annotation shall be after this write of labels; undefined: as it is. */
export function epochAfter(
  { labels, annotations }: { readonly labels: Labels; readonly annotations: Labels },
  write: Readonly<Record<string, string | null>>,
): string | undefined {
  const isNew = Object.entries(write).some(
    ([label, value]) => isNodeLabel(label) && value === '0' && labels[label] !== '0',
  );
  return isNew ? String((epochOf(annotations) ?? 0) + 1) : undefined;
}
