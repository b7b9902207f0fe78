/** Who is waited for before a released address is given to somebody else, as the caches say it (release-rules.ts decides). No I/O. */

import type { ClaimRecord } from '../allocator/claim-record.ts';
import { type ClusterNode, isOutOfService } from '../model/cluster-node.ts';
import type { LoopContext } from './loops.ts';
import type { Quarantine } from './release-rules.ts';
import type { ReleaseWatch } from './release-watch.ts';

/** nodes answer within seconds; for so long it is nobody's business */
const TELL_AFTER_MS = 60_000;

export type QuarantineContext = Pick<LoopContext, 'caches' | 'settings'> & {
  readonly releases: Pick<ReleaseWatch, 'seenForMs'>;
};

export function quarantine({ caches, settings, releases }: QuarantineContext): Quarantine {
  return {
    ipNodes: [...caches.ipNodes.items.values()],
    hasNode: (name) => isAwaited(caches.nodes.get(name)),
    maxStaleMs: settings.maxStaleMs,
    seenForMs: (claim) => releases.seenForMs(claim),
  };
}

/** Who taints a Node as out of service says that the machine is off: it announces nothing. */
export function isAwaited(node: ClusterNode | undefined): boolean {
  return node !== undefined && !isOutOfService(node);
}

export interface Unconfirmed {
  /** how many released addresses wait for each node, by pool */
  readonly byPool: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** how long until this may be different without any other change; undefined: it will not */
  readonly againMs?: number;
}

/** What the loop of releases knows: nobody is asked twice, since a thousand nodes and some hundred addresses would be asked each second. */
export interface KnownReleases {
  readonly released: Iterable<ClaimRecord>;
  /** the pool of a claim, where it has one */
  readonly poolOf: (claim: ClaimRecord) => string | undefined;
  /** nodes that it waits for */
  readonly awaitedBy: (name: string) => Iterable<string>;
  readonly seenForMs: (claim: ClaimRecord) => number;
}

export function unconfirmed({
  released,
  poolOf,
  awaitedBy,
  seenForMs,
}: KnownReleases): Unconfirmed {
  const byPool = new Map<string, Map<string, number>>();
  let againMs = Number.POSITIVE_INFINITY;
  for (const claim of released) {
    const waitedMs = seenForMs(claim);
    if (waitedMs < TELL_AFTER_MS) {
      againMs = Math.min(againMs, TELL_AFTER_MS - waitedMs);
      continue;
    }
    const pool = poolOf(claim);
    const nodes = [...awaitedBy(claim.name)];
    if (pool === undefined || nodes.length === 0) continue;
    const counts = byPool.get(pool) ?? new Map<string, number>();
    for (const node of nodes) counts.set(node, (counts.get(node) ?? 0) + 1);
    byPool.set(pool, counts);
  }
  // of several that are waited for one may answer
  if (byPool.size > 0) againMs = Math.min(againMs, TELL_AFTER_MS);
  return { byPool, ...(Number.isFinite(againMs) && { againMs }) };
}
