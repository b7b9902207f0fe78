/**
 * What documents do to each other: pools that share addresses, peers that are the same session twice. Pure. Who stood before wins; of
 * two that are new the older one, then the first by name, so that every node comes to the same answer from the same documents.
 */

import { AcceptedRanges } from './accepted-ranges.ts';
import { type BgpPeer, peerSessionKey } from './bgp-peer.ts';
import type { IpPool } from './ip-pool.ts';
import type { LabelSelector } from './labels.ts';

export interface Candidate<T> {
  readonly object: T;
  readonly createdMs: number;
  /** in force in exactly this form already */
  readonly isStanding: boolean;
  /** the controller has refused exactly this form: whatever it was refused for comes first */
  readonly isRefused?: boolean;
}

/** An object that cannot be beside another one, and why. */
export interface Conflict<T> {
  readonly object: T;
  readonly sentence: string;
}

export function checkPools(candidates: readonly Candidate<IpPool>[]): Conflict<IpPool>[] {
  const accepted = new AcceptedRanges();
  const conflicts: Conflict<IpPool>[] = [];
  for (const { object } of inOrder(candidates)) {
    const sentence = overlap(object, accepted);
    if (sentence === undefined) accepted.add(object);
    else conflicts.push({ object, sentence });
  }
  return conflicts;
}

function overlap(pool: IpPool, accepted: AcceptedRanges): string | undefined {
  for (const range of pool.ranges) {
    const other = accepted.overlapping(range);
    if (other === undefined) continue;
    const what = `'${range.text}' overlaps '${other.range.text}' of IPPool/${other.pool.name}`;
    return `${what}; an address may be in one pool only, so change one of the two`;
  }
  return undefined;
}

export function checkPeers(candidates: readonly Candidate<BgpPeer>[]): Conflict<BgpPeer>[] {
  const accepted = new Map<string, BgpPeer>();
  const conflicts: Conflict<BgpPeer>[] = [];
  for (const { object } of inOrder(candidates)) {
    const key = documentSessionKey(object);
    const other = accepted.get(key);
    if (other === undefined) {
      accepted.set(key, object);
      continue;
    }
    const what = `it is the same session as BGPPeer/${other.name}`;
    const parts = object.target.kind === 'range' ? 'addressRange' : 'address, port, sourceAddress';
    const how = `remove one, or give them different ${parts} or nodeSelector`;
    conflicts.push({ object, sentence: `${what}; ${how}` });
  }
  return conflicts;
}

/**
 * Two peers with one key are one session on every node. With different node selectors they may be meant for different nodes, which
 * only a node can tell.
 */
export function documentSessionKey(peer: BgpPeer): string {
  return `${peerSessionKey(peer)} ${selectorKey(peer.nodeSelector)}`;
}

function selectorKey(selector: LabelSelector | undefined): string {
  const labels = Object.entries(selector?.matchLabels ?? {}).sort();
  const expressions = (selector?.matchExpressions ?? []).map((each) => JSON.stringify(each)).sort();
  return labels.length + expressions.length === 0 ? '' : JSON.stringify([labels, expressions]);
}

function inOrder<T extends { readonly name: string }>(
  candidates: readonly Candidate<T>[],
): Candidate<T>[] {
  return candidates.toSorted(
    (a, b) =>
      Number(a.isRefused === true) - Number(b.isRefused === true) ||
      Number(b.isStanding) - Number(a.isStanding) ||
      a.createdMs - b.createdMs ||
      (a.object.name < b.object.name ? -1 : 1),
  );
}
