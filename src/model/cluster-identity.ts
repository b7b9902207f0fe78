/**
 * Which cluster a way to an API leads to, as far as that can be said before the API has answered, and whether documents that were saved
 * are of that cluster. Pure.
 *
 * The marks are the certificates that the API server is trusted by, or its URLs where no certificate is named. One mark in common is
 * enough: a certificate authority that is replaced stands beside its successor for a while. A token that the kubelet has mounted names
 * the Node that it was made for by its uid; no two clusters have one in common, so that word counts before the marks.
 */

export interface ClusterIdentity {
  readonly marks: readonly string[];
  /** uid of the Node that the token is bound to */
  readonly nodeUid?: string;
  /** wall clock: since when the files that this is read from are as they are; undefined where nobody knows */
  readonly unchangedSinceMs?: number;
}

/** What a saved View says of the cluster that its documents are from. */
export interface SavedOrigin {
  /** absent: it was saved by 0.1 */
  readonly marks?: readonly string[];
  readonly nodeUid?: string;
  readonly savedAtMs: number;
}

/** Why documents that were saved are not to be used with this cluster; undefined: they are of this cluster. */
export function foreignness(saved: SavedOrigin, now: ClusterIdentity): string | undefined {
  if (saved.nodeUid !== undefined && now.nodeUid !== undefined) {
    if (saved.nodeUid === now.nodeUid) return undefined;
    return `they are of the Node with uid ${saved.nodeUid}, and this agent's token is of the Node with uid ${now.nodeUid}`;
  }
  if (saved.marks !== undefined) {
    if (haveCommon(saved.marks, now.marks)) return undefined;
    return 'they are of another cluster: its API server was trusted by other certificates';
  }
  const { unchangedSinceMs } = now;
  if (unchangedSinceMs !== undefined && unchangedSinceMs <= saved.savedAtMs) return undefined;
  return 'Herald 0.1 saved them without the name of their cluster, and the way to the API has changed since';
}

/** What is known of the cluster while a process runs: a new set of certificates counts where it has one of those before. */
export function followed(before: readonly string[], now: readonly string[]): readonly string[] {
  return haveCommon(before, now) ? now : before;
}

function haveCommon(some: readonly string[], others: readonly string[]): boolean {
  return some.some((mark) => others.includes(mark));
}
