/**
 * When a released address is free again: when every node that may have announced it has said that it let go, or is gone, or has not been
 * heard of for so long that it has withdrawn by itself. Pure.
 */

import type { ClaimRecord } from '../allocator/claim-record.ts';
import type { IpNode } from '../model/ip-node.ts';
import { ANYCAST_LABEL, FORMER_VERSION_ANNOTATION, levelOf } from '../model/names.ts';
import { isFormerNode } from '../scheduler/former-nodes.ts';
import { versionNumber } from '../sources/kube/object-key.ts';

export interface Quarantine {
  /** no iterator: who asks twice would be answered `free` the second time */
  readonly ipNodes: readonly IpNode[];
  /** whether there is a Node of that name */
  readonly hasNode: (name: string) => boolean;
  /** how long a node that does not answer is waited for */
  readonly maxStaleMs: number;
  /** for how long this controller has seen it released, by a clock that nobody sets */
  readonly seenForMs: (claim: ClaimRecord) => number;
}

/**
 * Nodes that one claim is held against at a time; when these have answered it is looked at as a
 * whole again. Ten thousand claims that wait for each of a thousand nodes are ten million pairs,
 * which the memory of the controller does not hold.
 */
export const MOST_AWAITED = 16;

export type Freedom =
  | { readonly kind: 'free' }
  /** `by`: the first MOST_AWAITED of them */
  /** `leftMs`: after so long it is free whatever the nodes say */
  | { readonly kind: 'held'; readonly by: readonly string[]; readonly leftMs: number };

export function freedomOf(claim: ClaimRecord, quarantine: Quarantine): Freedom {
  const { ipNodes, hasNode, maxStaleMs, seenForMs } = quarantine;
  const leftMs = maxStaleMs - seenForMs(claim);
  if (leftMs <= 0) return { kind: 'free' };
  const by: string[] = [];
  for (const node of ipNodes) {
    if (isHeldBy(claim, node, hasNode)) by.push(node.name);
    if (by.length === MOST_AWAITED) break;
  }
  return by.length === 0 ? { kind: 'free' } : { kind: 'held', by, leftMs };
}

/** whether this node is waited for */
export function isHeldBy(
  claim: ClaimRecord,
  node: IpNode,
  hasNode: Quarantine['hasNode'],
): boolean {
  const version = awaitedVersion(claim, node);
  if (version === undefined || !hasNode(node.name)) return false;
  return versionNumber(node.status.observedClaims ?? '') < version;
}

/**
 * What a node must have taken up to be out of it; undefined: it never had a part in it. An anycast claim is announced by all that have
 * joined, an exclusive one by nodes that have a label on it, and perhaps by those that lost theirs unheard.
 */
function awaitedVersion(claim: ClaimRecord, { name, status }: IpNode): bigint | undefined {
  const { labels, annotations } = claim;
  const resourceVersion = claim.releasedVersion ?? claim.resourceVersion;
  const hasJoined = status.joined?.open === true;
  if (ANYCAST_LABEL in labels) return hasJoined ? versionNumber(resourceVersion) : undefined;
  if (levelOf(labels, name) !== undefined) return versionNumber(resourceVersion);
  if (!hasJoined || !isFormerNode(annotations, name)) return undefined;
  return versionNumber(annotations[FORMER_VERSION_ANNOTATION] ?? resourceVersion);
}
