/**
 * BGPPeers that are one session with another one: the same router, port and source. Pure. Agents keep one of the two and refuse the other,
 * everywhere where both are for the same nodes, and on single nodes where selectors or overrides bring them together; here it is found
 * out once more, so that the object itself can say it.
 */

import { type BgpPeer, overrideFor, peerSessionKey } from '../model/bgp-peer.ts';
import { checkPeers } from '../model/check-documents.ts';
import { type Labels, selects } from '../model/labels.ts';
import { SAME_SESSION_REASON, SESSIONS_UP_CONDITION } from '../model/names.ts';
import type { CachedDocument } from './cached-document.ts';
import { isTwin, type PeeringNode } from './peer-status.ts';

/** By name: why it has no session of its own, on any node or on one. */
export function peerTwins(
  documents: Iterable<CachedDocument<BgpPeer>>,
  nodes: Iterable<PeeringNode>,
): ReadonlyMap<string, string> {
  const known = [...documents].filter(({ meta }) => !meta.isBeingDeleted);
  const candidates = known.flatMap((each) => (each.ok ? [candidate(each)] : []));
  const told = new Set(known.filter(({ meta }) => isTwin(meta)).map(({ meta }) => meta.name));
  const twins = new Map<string, string>();
  for (const { object, sentence } of checkPeers(candidates)) twins.set(object.name, sentence);
  const left = candidates.map(({ object }) => object).filter(({ name }) => !twins.has(name));
  for (const node of nodes) {
    for (const [name, sentence] of twinsOn(node, left, told)) {
      if (!twins.has(name)) twins.set(name, sentence);
    }
  }
  return twins;
}

/**
 * Who had its sessions in this form before somebody wrote the other stays, and whoever was refused in this form comes last; the condition is the
 * memory of that. So an edit of the one that has the sessions gives them to nobody else.
 */
function candidate({ meta, object }: Extract<CachedDocument<BgpPeer>, { ok: true }>) {
  const { conditions, generation, createdMs } = meta;
  const said = conditions.find(({ type }) => type === SESSIONS_UP_CONDITION);
  const isPresent = said?.observedGeneration === generation;
  const isRefused = isPresent && said.reason === SAME_SESSION_REASON;
  return { object, createdMs, isStanding: isPresent && !isRefused, isRefused };
}

/** Of two that meet on a node, the one that its agent leaves idle while it works on the other; while both rest, what was told stands. */
function* twinsOn(
  { node, ipNode }: PeeringNode,
  peers: readonly BgpPeer[],
  told: ReadonlySet<string>,
): Iterable<readonly [string, string]> {
  if (node === undefined) return;
  const states = new Map(ipNode.status.sessions?.map(({ peer, state }) => [peer, state]));
  const isIdle = (name: string) => states.get(name) === 'Idle';
  for (const group of met(peers, node.labels)) {
    const busy = group.find((name) => states.has(name) && !isIdle(name));
    const other = group.some((name) => told.has(name)) && group.find((name) => !told.has(name));
    const kept = busy ?? other;
    if (kept === undefined || kept === false) continue;
    for (const name of group.filter((each) => each !== kept && isIdle(each))) {
      const what = `on node ${node.name} it is the same session as BGPPeer/${kept}`;
      yield [
        name,
        `${what}; remove one, or give them different address, port, sourceAddress or nodeSelector`,
      ];
    }
  }
}

/** names of those that have one session between them on a node with these labels */
function met(peers: readonly BgpPeer[], labels: Labels): Iterable<readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const peer of peers) {
    const here = peerOn(peer, labels);
    if (here === undefined || here.target.kind === 'range') continue;
    const key = peerSessionKey(here);
    groups.set(key, [...(groups.get(key) ?? []), peer.name]);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

/** the peer with what its overrides say for a node; undefined: it is not for it */
function peerOn(peer: BgpPeer, labels: Labels): BgpPeer | undefined {
  if (!selects(peer.nodeSelector, labels)) return undefined;
  const override = overrideFor(peer, labels);
  const { address, zone, sourceAddress } = override ?? {};
  return {
    ...peer,
    ...(address !== undefined && {
      target: { kind: 'address', address, ...(zone !== undefined && { zone }) },
    }),
    ...(sourceAddress !== undefined && { sourceAddress }),
  };
}
