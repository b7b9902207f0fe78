/**
 * A node's View made of what the API knows of it, for asking `desired()` what it would do. Pure. What only the agent knows is taken as it reported it: an address that
 * it refuses now it refuses in the plan too, everything else passes.
 */

import { parseAddress } from 'bgp-ts';
import { clusterFacts, learnNode, NO_CLUSTER_MEMORY } from '../agent/cluster-memory.ts';
import type { DiscardFacts, View } from '../agent/view.ts';
import { formatClaimName } from '../model/claim-name.ts';
import type { ClusterNode } from '../model/cluster-node.ts';
import type { Documents } from '../model/documents.ts';
import type { IpNodeStatus } from '../model/ip-node.ts';
import type { Labels } from '../model/labels.ts';

export interface PlanNode {
  readonly name: string;
  readonly labels: Labels;
  /** absent: there is no cluster */
  readonly cluster?: { readonly node: ClusterNode; readonly status: IpNodeStatus };
}

/** of an agent without --asn we do not know; it is the same before and after */
const SOME_ASN = 64512;
/** long after every drain */
const LATE_MS = 1e12;
/** gates that a change of documents does not open */
const LASTING = new Set(['healthy', 'bound', 'not-draining']);

/** what a kernel would refuse only its agent knows */
const ALL_DISCARDED: DiscardFacts = { get: () => ({ kind: 'present' }) };

export function planView({ name, labels, cluster }: PlanNode, documents: Documents): View {
  const passes = { isOpen: true, sentence: 'as it is now' };
  const claims = documents.claims.map(({ object }) => object);
  const joined = cluster?.status.joined;
  const isJoined = cluster === undefined || joined?.open === true;
  const facts = isJoined ? passes : { isOpen: false, sentence: joined?.message ?? 'not joined' };
  return {
    nowMs: LATE_MS,
    node: { name, labels, routerId: 1, asn: SOME_ASN },
    documents,
    joined: facts,
    health: new Map(claims.map((claim) => [claim.name, passes])),
    bindings: new Map(
      claims.map((claim) => [claim.name, { kind: 'present', sentence: 'as it is now' }]),
    ),
    ownAddresses: new Map(),
    passwords: new Map(
      documents.peers.map(({ object }) => [object.name, { kind: 'ready', password: '-' }]),
    ),
    claimDrains: new Map(refusals(cluster?.status)),
    departures: new Map(),
    discards: ALL_DISCARDED,
    ...(cluster?.status.draining === undefined
      ? {}
      : { nodeDrain: { sinceMs: 0, reason: cluster.status.draining.reason } }),
    ...(cluster === undefined ? {} : { cluster: { ...ofNode(cluster), joined: facts } }),
  };
}

function refusals(status: IpNodeStatus | undefined) {
  return (status?.refused ?? []).flatMap(({ address, gate, message }) => {
    const parsed = parseAddress(address);
    if (parsed === undefined || !LASTING.has(gate)) return [];
    return [[formatClaimName(parsed), { sinceMs: 0, reason: message }] as const];
  });
}

function ofNode({
  node,
  status: { ignoresExcludeLabel = false },
}: NonNullable<PlanNode['cluster']>) {
  const context = { nodeName: node.name, ignoresExcludeLabel };
  const memory = learnNode(NO_CLUSTER_MEMORY, node, context, { nowMs: 0, isAnnouncing: false });
  return clusterFacts(memory, context);
}
