/** Status of a BGPPeer from what the nodes report: how many shall peer with it, how many do, and the router's own words where one does not. Pure. */

import type { BgpPeer } from '../model/bgp-peer.ts';
import type { ClusterNode } from '../model/cluster-node.ts';
import type { IpNode, IpNodeSession } from '../model/ip-node.ts';
import { selects } from '../model/labels.ts';
import { SAME_SESSION_REASON, SESSIONS_UP_CONDITION } from '../model/names.ts';
import type { CachedDocument, DocumentMeta } from './cached-document.ts';
import type { WantedCondition } from './conditions.ts';
import { isHeard } from './reach.ts';

/** it has been told that another one is its session */
export function isTwin({ conditions }: Pick<DocumentMeta, 'conditions'>): boolean {
  return conditions.some(
    ({ type, reason }) => type === SESSIONS_UP_CONDITION && reason === SAME_SESSION_REASON,
  );
}

export interface PeerStatus {
  readonly nodes: number;
  readonly established: number;
  readonly condition: WantedCondition;
}

/** A node that has an agent. */
export interface PeeringNode {
  readonly node: ClusterNode | undefined;
  readonly ipNode: IpNode;
}

export function peerStatus(
  peer: CachedDocument<BgpPeer>,
  nodes: Iterable<PeeringNode>,
  /** why another one has its session */
  twin?: string,
): PeerStatus {
  const { generation } = peer.meta;
  const said = (status: WantedCondition['status'], reason: string, message: string) => ({
    type: SESSIONS_UP_CONDITION,
    status,
    reason,
    message,
    observedGeneration: generation,
  });
  if (!peer.ok) {
    return { nodes: 0, established: 0, condition: said('False', 'Refused', peer.sentence) };
  }
  const { wanted, established, failing } = countNodes(peer.object, nodes);
  const numbers = `${established} of ${wanted} ${wanted === 1 ? 'node has' : 'nodes have'} a session`;
  const counts = { nodes: wanted, established };
  if (twin !== undefined) return { ...counts, condition: said('False', SAME_SESSION_REASON, twin) };
  if (wanted === 0) {
    const why = 'no node with an agent matches its nodeSelector';
    return { ...counts, condition: said('Unknown', 'NoNode', why) };
  }
  if (established === wanted) {
    return { ...counts, condition: said('True', 'AllEstablished', numbers) };
  }
  const reason = established === 0 ? 'NoneEstablished' : 'SomeDown';
  const words = failing === undefined ? '' : `; ${failing}`;
  return { ...counts, condition: said('False', reason, `${numbers}${words}`) };
}

interface NodeCounts {
  readonly wanted: number;
  readonly established: number;
  /** what the first node without a session says of it, in words that stay the same while nothing changes */
  readonly failing: string | undefined;
}

function countNodes(peer: BgpPeer, nodes: Iterable<PeeringNode>): NodeCounts {
  let wanted = 0;
  let established = 0;
  const down: { readonly name: string; readonly words: string | undefined }[] = [];
  for (const { node, ipNode } of nodes) {
    if (node === undefined || !selects(peer.nodeSelector, node.labels)) continue;
    wanted += 1;
    const sessions = (ipNode.status.sessions ?? []).filter((each) => each.peer === peer.name);
    if (isHeard(node, ipNode) && sessions.some(({ state }) => state === 'Established')) {
      established += 1;
    } else down.push({ name: node.name, words: failure(node, ipNode, sessions) });
  }
  const told = down.filter(({ words }) => words !== undefined);
  const [first] = (told.length > 0 ? told : down).sort((a, b) => (a.name < b.name ? -1 : 1));
  const failing = first && `node ${first.name}: ${first.words ?? 'no session yet'}`;
  return { wanted, established, failing };
}

function failure(
  node: ClusterNode,
  ipNode: IpNode,
  sessions: readonly IpNodeSession[],
): string | undefined {
  if (!isHeard(node, ipNode)) return 'it has not been heard of';
  return sessions.find(({ lastError }) => lastError !== undefined)?.lastError;
}
