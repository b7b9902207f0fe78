/**
 * Whom a pool's addresses reach: which nodes should announce them to which routers, and which do. Pure. Worked out once per pool (and
 * placement, and family) and shared by all its claims, since a cluster has thousands of claims and they differ in little; what differs,
 * an address that a node refuses, is subtracted per claim in advertised.ts.
 */

import { FAMILIES, type Family } from 'bgp-ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { ClusterNode } from '../model/cluster-node.ts';
import { type CutShort, cutShortOf, type IpNode, type IpNodeSession } from '../model/ip-node.ts';
import type { IpPool, Placement } from '../model/ip-pool.ts';
import { type Labels, selects } from '../model/labels.ts';
import { EXCLUDE_LABEL } from '../model/names.ts';
import { optional } from '../model/optional.ts';

/** A node that has an agent, as far as it matters here. */
export interface NodeView {
  readonly name: string;
  readonly labels: Labels;
  /** its Node is there and its agent has been heard of: what it reports is of now */
  readonly isHeard: boolean;
  readonly isJoined: boolean;
  readonly isDraining: boolean;
  /** it has the exclude label, and is not the only node there is */
  readonly isExcluded: boolean;
  /** by name of the BGPPeers that it has a session with: families that one of them carries */
  readonly established: ReadonlyMap<string, ReadonlySet<Family>>;
  /** it refuses more addresses than it lists: of which that are not listed nobody knows */
  readonly cutShort?: CutShort;
}

export function nodeView(ipNode: IpNode, node: ClusterNode | undefined): NodeView {
  const { joined, draining, sessions = [], ignoresExcludeLabel = false } = ipNode.status;
  return {
    name: ipNode.name,
    labels: node?.labels ?? {},
    isHeard: node !== undefined && isHeard(node, ipNode),
    isJoined: joined?.open === true,
    isDraining: draining !== undefined,
    isExcluded: node?.labels[EXCLUDE_LABEL] !== undefined && !ignoresExcludeLabel,
    established: establishedOf(sessions),
    ...optional('cutShort', cutShortOf(ipNode.status)),
  };
}

/** A session that is up may carry no routes of a family all the same; its node says so. */
function establishedOf(sessions: readonly IpNodeSession[]): NodeView['established'] {
  const found = new Map<string, Set<Family>>();
  for (const { peer, state, cannotCarry = [] } of sessions) {
    if (state !== 'Established') continue;
    const families = found.get(peer) ?? new Set<Family>();
    for (const each of FAMILIES) {
      if (!cannotCarry.some(({ family }) => family === each)) families.add(each);
    }
    found.set(peer, families);
  }
  return found;
}

/** Whether what a node reported last is of now, as far as the cluster can tell. */
export function isHeard({ ready }: ClusterNode, { status: { conditions = [] } }: IpNode): boolean {
  const isSilent = conditions.some(
    ({ type, status }) => type === 'AgentAlive' && status === 'False',
  );
  return ready !== 'unknown' && !isSilent;
}

/** Equal texts: the node counts in the same way everywhere. */
export function viewSignature(view: NodeView): string {
  const { isHeard, isJoined, isDraining, isExcluded, cutShort, established, labels } = view;
  const peers = [...established]
    .map(([peer, families]) => `${peer}:${[...families].join('+')}`)
    .sort()
    .join(',');
  const flags = [isHeard, isJoined, isDraining, isExcluded, cutShort].join(' ');
  return `${flags} ${peers} ${JSON.stringify(labels)}`;
}

export interface ReachScope {
  readonly pool: IpPool;
  /** the pool's, with what the claim says otherwise */
  readonly placement: Placement;
  readonly family: Family;
  /** of a Service: nodes with the exclude label take no part, unless the pool says so */
  readonly isOfService: boolean;
}

export interface Reach {
  readonly nodes: ReadonlyMap<string, NodeReach>;
  /** nodes that should announce, and how many of them have a router to announce to */
  readonly expected: number;
  readonly announcing: number;
  /** how many of them have a session that is up, whatever it carries */
  readonly connected: number;
  /** routers that they should announce to; how many nodes reach each */
  readonly peers: ReadonlyMap<string, number>;
  readonly peersReached: number;
  /** nodes that should announce, have a router to announce to, and do not list all that they refuse */
  readonly cutShort: readonly string[];
}

export interface NodeReach {
  readonly isExpected: boolean;
  /** how many routers it should announce to */
  readonly wanted: number;
  /** those of them that it has a session with, and that take routes of the family */
  readonly reached: readonly string[];
  /** it has a session with one of them, whatever that carries */
  readonly isConnected: boolean;
  readonly cutShort?: CutShort;
}

export function reachOf(
  scope: ReachScope,
  views: Iterable<NodeView>,
  peers: readonly BgpPeer[],
): Reach {
  const carrying = peers.filter(({ families }) => families.includes(scope.family));
  const nodes = new Map<string, NodeReach>();
  const counts = new Map<string, number>();
  for (const view of views) {
    const found = nodeReach(scope, view, carrying);
    if (found === undefined) continue;
    const { isExpected, wanted, reached } = found;
    nodes.set(view.name, { ...found, wanted: wanted.length });
    if (!isExpected) continue;
    for (const name of wanted) counts.set(name, counts.get(name) ?? 0);
    for (const name of reached) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const expected = [...nodes.values()].filter(({ isExpected }) => isExpected);
  return {
    nodes,
    expected: expected.length,
    announcing: expected.filter(({ reached }) => reached.length > 0).length,
    connected: expected.filter(({ isConnected }) => isConnected).length,
    peers: counts,
    peersReached: [...counts.values()].filter((count) => count > 0).length,
    cutShort: [...nodes]
      .filter(
        ([, node]) => node.isExpected && node.cutShort !== undefined && node.reached.length > 0,
      )
      .map(([name]) => name),
  };
}

/** Undefined: it has no part in it. */
function nodeReach(
  scope: ReachScope,
  view: NodeView,
  peers: readonly BgpPeer[],
): (Omit<NodeReach, 'wanted'> & { readonly wanted: readonly string[] }) | undefined {
  if (!view.isHeard || !view.isJoined) return undefined;
  const isMeant = takesPart(scope, view);
  // whom the controller has chosen keeps an exclusive claim until another has taken over
  if (!isMeant && scope.placement.mode !== 'exclusive') return undefined;
  const wanted = peers.filter((peer) => isWanted(scope.pool, peer, view)).map(({ name }) => name);
  const reached = wanted.filter((peer) => view.established.get(peer)?.has(scope.family) === true);
  const isConnected = wanted.some((peer) => view.established.has(peer));
  // a drain is somebody's wish: who drains is not missed, but what it still announces counts for an exclusive claim
  const isExpected = isMeant && !view.isDraining;
  return { isExpected, wanted, reached, isConnected, ...optional('cutShort', view.cutShort) };
}

/** Equal texts: every claim of this scope stands as before. */
export function reachSignature({ nodes, peers }: Reach): string {
  return JSON.stringify([[...nodes], [...peers]]);
}

function takesPart({ pool, placement, isOfService }: ReachScope, view: NodeView): boolean {
  if (view.isExcluded && isOfService && !pool.ignoreExcludeLabel) return false;
  return selects(placement.nodeSelector, view.labels);
}

function isWanted({ advertisements }: IpPool, peer: BgpPeer, { labels }: NodeView): boolean {
  if (!selects(peer.nodeSelector, labels)) return false;
  if (advertisements.length === 0) return true;
  return advertisements.some(
    (entry) => selects(entry.peerSelector, peer.labels) && selects(entry.nodeSelector, labels),
  );
}
