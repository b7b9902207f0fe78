/**
 * The names that Herald goes by in a cluster: API group, labels, annotations, Leases. One place, since agents, controller,
 * manifests and people must all spell them alike. Pure.
 */

import type { Labels } from './labels.ts';
import { shortHash } from './short-hash.ts';

export const GROUP = 'herald.dev';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;
export const NAMESPACE = 'herald-system';
/** spec.loadBalancerClass of Services that are ours */
export const LOAD_BALANCER_CLASS = 'herald.dev/herald';

export const ANNOTATION = {
  /** wanted addresses, separated by commas */
  addresses: 'herald.dev/addresses',
  /** wanted pools, separated by commas */
  pool: 'herald.dev/pool',
  /** Services with the same word may share an address */
  share: 'herald.dev/share',
  /** `auto`: give it an external IP from a pool with allowExternalIPs */
  externalIp: 'herald.dev/external-ip',
} as const;

/** on every claim that all nodes may announce; its value says nothing */
export const ANYCAST_LABEL = 'herald.dev/anycast';
/** on every claim that the controller made; its value is the pool */
export const POOL_LABEL = 'herald.dev/pool';
/** on a claim that its last Service has left, `namespace/name` of that Service: the address is quarantined until the nodes have let go of it */
export const RELEASED_BY_ANNOTATION = 'herald.dev/released-by';
export const RELEASED_AT_ANNOTATION = 'herald.dev/released-at';
/** on a claim that several Services share: `namespace/name=HASH` of what each had when it was let in (docs/decisions/0034), with commas between */
export const SHARE_TERMS_ANNOTATION = 'herald.dev/share-terms';
/** on the Lease of a node whose agent restarts as planned: for how many seconds its routers keep its routes, from when it was written */
export const RESTARTING_ANNOTATION = 'herald.dev/restarting-seconds';
/** on an exclusive claim: nodes that lost their label and had not said yet that they announce it no more, separated by commas */
export const FORMER_NODES_ANNOTATION = 'herald.dev/former-nodes';
/** on an exclusive claim: how often a node was told to hold it; of two that are cut off, one after the other, it tells who was later */
export const EPOCH_ANNOTATION = 'herald.dev/epoch';
/** on a released claim that has such: who has taken up this version has let go of it */
export const FORMER_VERSION_ANNOTATION = 'herald.dev/former-version';
/** condition of an IPPool: claims of it are exclusive by their own words, so nodes that may hold one need a Lease */
/** of an IPPool: whether addresses are given out of it; on other kinds as the API has it everywhere */
export const READY_CONDITION = 'Ready';
export const EXCLUSIVE_CLAIMS_CONDITION = 'ExclusiveClaims';
/** of a BGPPeer: whether the nodes that it selects have their sessions */
export const SESSIONS_UP_CONDITION = 'SessionsUp';
/** its reason where another BGPPeer is the same session (peer-twins.ts) */
export const SAME_SESSION_REASON = 'SameSession';
export const EXCLUDE_LABEL = 'node.kubernetes.io/exclude-from-external-load-balancers';
export const HOSTNAME_LABEL = 'kubernetes.io/hostname';
export const OUT_OF_SERVICE_TAINT = 'node.kubernetes.io/out-of-service';
export const CONTROLLER_LEASE = 'herald-controller';
/** on that Lease: its holder drains or restarts, so the next process of simple mode may announce beside it */
export const LEAVING_ANNOTATION = 'herald.dev/leaving';

const NODE_LABEL_PREFIX = 'node.herald.dev/';
/** of the part of a label's key behind the slash */
const LONGEST = 63;
const KEPT = 54;

/**
 * How far down a node's route to an exclusive claim stands: the holder 0, one that is cut off from the API 1, one that leaves 2
 * (docs/decisions/0016). It is the value of the node's label on the claim.
 */
export type PreferenceLevel = 0 | 1 | 2;

/**
 * What goes out: the level of the label, or one further down that the node takes by itself. 1: it has not renewed its Lease for too long; 3, 4
 * and 5: for so long that another node may have the claim, or it has just started (docs/decisions/0038; 4 where nodes are in several ASes, 0050).
 */
export type EffectiveLevel = PreferenceLevel | 3 | 4 | 5;

/** Key of the label that puts an exclusive claim into the filtered watch of one node. */
export function nodeLabel(node: string): string {
  return `${NODE_LABEL_PREFIX}${fitting(node)}`;
}

/** True for the label of any node, whichever it is. */
export function isNodeLabel(key: string): boolean {
  return key.startsWith(NODE_LABEL_PREFIX);
}

/** The node in a label's key; of a name that was too long, what stands for it. */
export function nodeOfLabel(key: string): string {
  return key.slice(NODE_LABEL_PREFIX.length);
}

/** Name of the Lease in herald-system that a node's agent renews. */
export function nodeLease(node: string): string {
  return `node-${fitting(node)}`;
}

function fitting(node: string): string {
  return node.length <= LONGEST ? node : `${node.slice(0, KEPT)}-${shortHash(node)}`;
}

/** Where a node stands with a claim by its labels; undefined: it has no part in it. A value that is no level is a holder's. */
export function levelOf(labels: Labels, node: string): PreferenceLevel | undefined {
  const value = labels[nodeLabel(node)];
  return value === undefined ? undefined : parseLevel(value);
}

/** It was placed on this node straight: no other node has a part in it, so nobody waits for this one's answer. */
export function isStraight(labels: Labels, node: string): boolean {
  if (levelOf(labels, node) !== 0 || ANYCAST_LABEL in labels) return false;
  return Object.keys(labels).filter(isNodeLabel).length === 1;
}

/** What the value of a node's label says. */
export function parseLevel(value: string): PreferenceLevel {
  return value === '1' ? 1 : value === '2' ? 2 : 0;
}
