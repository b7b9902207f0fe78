/**
 * Who may still announce an exclusive claim though it has no part in it any more: a node whose label was taken away and that has not said
 * that it knows. One that is cut off may go on for hours, one step down. The claim itself remembers it, so that its address is not given
 * to somebody else while that node announces it, whichever controller runs by then. Pure.
 */

import type { Labels } from '../model/labels.ts';
import {
  ANYCAST_LABEL,
  FORMER_NODES_ANNOTATION,
  isNodeLabel,
  nodeLabel,
  nodeOfLabel,
} from '../model/names.ts';

/** beside names: every node announced it */
export const ANY_NODE = '*';

/** As their labels say it, and ANY_NODE. */
export function formerNodes(annotations: Labels): ReadonlySet<string> {
  const text = annotations[FORMER_NODES_ANNOTATION] ?? '';
  return new Set(text.split(',').filter((name) => name !== ''));
}

export function isFormerNode(annotations: Labels, node: string): boolean {
  const known = formerNodes(annotations);
  return known.has(ANY_NODE) || known.has(nodeOfLabel(nodeLabel(node)));
}

export interface LabelledClaim {
  readonly labels: Labels;
  readonly annotations: Labels;
}

/** What the annotation shall be after this write of labels; null: none, undefined: as it is. */
export function formerAfter(
  claim: LabelledClaim,
  write: Readonly<Record<string, string | null>>,
  hasLetGo: (name: string) => boolean,
): string | null | undefined {
  const before = claim.annotations[FORMER_NODES_ANNOTATION];
  const now = namesAfter(claim, write, hasLetGo).join(',') || null;
  return now === (before ?? null) ? undefined : now;
}

function namesAfter(
  { labels, annotations }: LabelledClaim,
  write: Readonly<Record<string, string | null>>,
  hasLetGo: (name: string) => boolean,
): readonly string[] {
  const wasAnycast = ANYCAST_LABEL in labels;
  if (write[ANYCAST_LABEL] === null) return wasAnycast ? [ANY_NODE] : [];
  // all that have joined are asked then
  if (wasAnycast || ANYCAST_LABEL in write) return [];
  const names = new Set([...formerNodes(annotations)].filter((name) => !hasLetGo(name)));
  for (const [label, value] of Object.entries(write)) {
    if (!isNodeLabel(label)) continue;
    if (value !== null) names.delete(nodeOfLabel(label));
    else if (label in labels) names.add(nodeOfLabel(label));
  }
  return [...names].sort();
}
