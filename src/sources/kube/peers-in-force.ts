/**
 * Which BGPPeers of the API are in force on a node, of those that are one session on every node (where selectors or overrides bring two together, the
 * node decides: peer-settings.ts). Who has the session keeps it, edited or not: by the memory of this process, after a start by the saved View, and
 * where that says nothing by the condition that the controller has written. Pure but for its memory.
 */

import type { BgpPeer } from '../../model/bgp-peer.ts';
import { checkPeers, documentSessionKey } from '../../model/check-documents.ts';
import type { DocumentFault, Sourced } from '../../model/documents.ts';
import { SAME_SESSION_REASON, SESSIONS_UP_CONDITION } from '../../model/names.ts';
import type { KubeObject } from './api.ts';
import { convertConditions } from './convert-condition.ts';
import { part } from './loose-fields.ts';
import { API_ORIGIN } from './object-ledger.ts';

/** what the controller says of the present form: that it is another one's session, or that it is not; absent: nothing */
export type PeerWord = 'twin' | 'standing';

export interface PeersNow {
  readonly peers: readonly Sourced<BgpPeer>[];
  readonly faults: readonly DocumentFault[];
}

export function peerWord(object: KubeObject): PeerWord | undefined {
  const { generation = 0 } = object.metadata;
  const said = convertConditions(part(object, 'status')).find(
    ({ type, observedGeneration }) =>
      type === SESSIONS_UP_CONDITION && observedGeneration === generation,
  );
  if (said === undefined) return undefined;
  return said.reason === SAME_SESSION_REASON ? 'twin' : 'standing';
}

export class PeersInForce {
  #last: { readonly of: readonly Sourced<BgpPeer>[]; readonly now: PeersNow } | undefined;

  /** The very answer of before for the very list; `saved`: in force before anything was chosen here. */
  choose(
    known: readonly Sourced<BgpPeer>[],
    saved: readonly Sourced<BgpPeer>[],
    wordOf: (name: string) => PeerWord | undefined,
  ): PeersNow {
    if (this.#last?.of === known) return this.#last.now;
    const before = this.#last?.now.peers ?? saved;
    const standing = namesBySession(before);
    const now = withoutTwins(known, (peer) => {
      const standingName = standing.get(documentSessionKey(peer));
      const word = standingName === undefined ? wordOf(peer.name) : undefined;
      return {
        isStanding: standingName === peer.name || word === 'standing',
        isRefused: word === 'twin',
      };
    });
    this.#last = { of: known, now };
    return now;
  }
}

/** the first that has it: so a saved View has them in order (standing-peers.ts) */
function namesBySession(peers: readonly Sourced<BgpPeer>[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { object } of peers) {
    const key = documentSessionKey(object);
    if (!names.has(key)) names.set(key, object.name);
  }
  return names;
}

function withoutTwins(
  peers: readonly Sourced<BgpPeer>[],
  standingOf: (peer: BgpPeer) => { readonly isStanding: boolean; readonly isRefused: boolean },
): PeersNow {
  const candidates = peers.map(({ object, createdMs }) => {
    return { object, createdMs, ...standingOf(object) };
  });
  const conflicts = checkPeers(candidates);
  if (conflicts.length === 0) return { peers, faults: [] };
  const out = new Set(conflicts.map(({ object }) => object));
  return {
    peers: peers.filter(({ object }) => !out.has(object)),
    faults: conflicts.map(({ object, sentence }) => ({
      file: API_ORIGIN,
      subject: `BGPPeer/${object.name}`,
      sentence,
      keepsLastGood: false,
    })),
  };
}
