/**
 * Which documents of a change would be refused beside the others: pools that share addresses, peers that are one session. Pure: the rules of the sources and of the
 * controller. A document that is refused already, and that the change leaves alone, is not the change's fault.
 */

import { isDeepStrictEqual } from 'node:util';
import { type Candidate, type Conflict, checkPeers, checkPools } from '../model/check-documents.ts';
import type { Documents, Sourced } from '../model/documents.ts';

export interface Comparison {
  readonly before: Documents;
  readonly after: Documents;
  /** `IPPool/b`: in the API, and refused there now */
  readonly refusedNow?: ReadonlySet<string>;
}

/** One sentence per document. */
export function conflictsOf({ before, after, refusedNow = new Set() }: Comparison): string[] {
  const ofPools = { kind: 'IPPool', check: checkPools, refusedNow };
  const ofPeers = { kind: 'BGPPeer', check: checkPeers, refusedNow };
  return [
    ...added(before.pools, after.pools, ofPools),
    ...added(before.peers, after.peers, ofPeers),
  ];
}

interface Rules<T> {
  readonly kind: string;
  readonly check: (candidates: readonly Candidate<T>[]) => readonly Conflict<T>[];
  readonly refusedNow: ReadonlySet<string>;
}

function added<T extends { readonly name: string }>(
  before: readonly Sourced<T>[],
  after: readonly Sourced<T>[],
  { kind, check, refusedNow }: Rules<T>,
): string[] {
  const old = new Map(before.map(({ object }) => [object.name, object]));
  const isStanding = (object: T) =>
    isDeepStrictEqual(old.get(object.name), object) && !refusedNow.has(`${kind}/${object.name}`);
  const candidates = (all: readonly Sourced<T>[]) =>
    all.map(({ object, createdMs }) => ({ object, createdMs, isStanding: isStanding(object) }));
  const known = new Set(check(candidates(before)).map(({ object }) => object));
  return check(candidates(after))
    .filter(({ object }) => !known.has(object))
    .map(({ object, sentence }) => `${kind}/${object.name} would be refused: ${sentence}`);
}
