/** Whether documents say the same as those that were told last. Pure. */

import type { Documents } from '../../model/documents.ts';

/** lists are the same object while nothing in them has changed */
export function isSame(a: Documents | undefined, b: Documents): boolean {
  return (
    a !== undefined &&
    a.peers === b.peers &&
    a.pools === b.pools &&
    a.claims === b.claims &&
    a.faults.length === b.faults.length &&
    a.faults.every((fault, index) => fault === b.faults[index]) &&
    hasSameCores(a.cores, b.cores)
  );
}

function hasSameCores(a: Documents['cores'] = new Map(), b: Documents['cores'] = new Map()) {
  return a.size === b.size && [...a].every(([name, core]) => b.get(name) === core);
}
