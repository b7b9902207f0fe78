/**
 * Documents of files and of the API as one (hand-over, DESIGN 4). Pure. File objects win: one of the same kind and name, and a peer that
 * is the same session, stands as the file has it, and only the file can take it away. So a cluster that comes, goes or says something else
 * never touches what the machine was set up with.
 */

import { type BgpPeer, peerSessionKey } from '../model/bgp-peer.ts';
import { type Documents, NO_DOCUMENTS, type Sourced } from '../model/documents.ts';
import { optional } from '../model/optional.ts';

/** A source that has said nothing yet is absent, and has no say. */
export function mergeDocuments(
  files: Documents | undefined,
  api: Documents | undefined,
): Documents {
  if (api === undefined) return files ?? NO_DOCUMENTS;
  if (files === undefined) return api;
  return {
    peers: mergePeers(files.peers, api.peers),
    // the first that holds an address is asked: files come first
    pools: merge(files.pools, api.pools),
    claims: merge(files.claims, api.claims),
    faults: joined(files.faults, api.faults),
    ...optional('formerPools', api.formerPools),
    ...optional('conflicting', api.conflicting),
  };
}

function merge<T extends { readonly name: string }>(
  files: readonly Sourced<T>[],
  api: readonly Sourced<T>[],
): readonly Sourced<T>[] {
  if (files.length === 0 || api.length === 0) return joined(files, api);
  const names = new Set(files.map(({ object }) => object.name));
  return [...files, ...api.filter(({ object }) => !names.has(object.name))];
}

/** the very list where there is only one: what was worked out from it counts on */
function joined<T>(files: readonly T[], api: readonly T[]): readonly T[] {
  if (api.length === 0) return files;
  return files.length === 0 ? api : [...files, ...api];
}

function mergePeers(
  files: readonly Sourced<BgpPeer>[],
  api: readonly Sourced<BgpPeer>[],
): readonly Sourced<BgpPeer>[] {
  const sessions = new Set(files.map(({ object }) => peerSessionKey(object)));
  const others = api.filter(({ object }) => !sessions.has(peerSessionKey(object)));
  return merge(files, others);
}
