/**
 * How far a claim is, by its status and its labels. Pure. A claim that all nodes may announce, and that nothing stands in the way of, has no
 * status: its label says it already, and every write of a claim goes to every node (docs/decisions/0029).
 */

import type { Labels } from './labels.ts';
import { ANYCAST_LABEL } from './names.ts';

/** `Placed`, `Refused` or `Pending`; `phase` as it stands in the status, if it does */
export function claimPhase(phase: unknown, labels: Labels): string {
  if (typeof phase === 'string' && phase !== '') return phase;
  return ANYCAST_LABEL in labels ? 'Placed' : 'Pending';
}
