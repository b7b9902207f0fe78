/** Who is waited for before a released address is given to somebody else, as the caches say it (release-rules.ts decides). No I/O. */

import type { ClaimRecord } from '../allocator/claim-record.ts';
import { type ClusterNode, isOutOfService } from '../model/cluster-node.ts';
import { RELEASED_AT_ANNOTATION } from '../model/names.ts';
import type { LoopContext } from './loops.ts';
import { freedomOf, type Quarantine } from './release-rules.ts';

/** nodes answer within seconds; for so long it is nobody's business */
const TELL_AFTER_MS = 60_000;

export function quarantine({
  caches,
  settings,
  clock,
}: Pick<LoopContext, 'caches' | 'settings' | 'clock'>): Quarantine {
  return {
    ipNodes: caches.ipNodes.items.values(),
    hasNode: (name) => isAwaited(caches.nodes.get(name)),
    maxStaleMs: settings.maxStaleMs,
    nowMs: clock.wallTimeMs(),
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

/** `poolOf`: the pool of a claim, where it has one */
export function unconfirmed(
  released: Iterable<ClaimRecord>,
  poolOf: (claim: ClaimRecord) => string | undefined,
  context: Parameters<typeof quarantine>[0],
): Unconfirmed {
  const nowMs = context.clock.wallTimeMs();
  const byPool = new Map<string, Map<string, number>>();
  let againMs = Number.POSITIVE_INFINITY;
  for (const claim of released) {
    const waitedMs = nowMs - Date.parse(claim.annotations[RELEASED_AT_ANNOTATION] ?? '');
    if (waitedMs < TELL_AFTER_MS) {
      againMs = Math.min(againMs, TELL_AFTER_MS - waitedMs);
      continue;
    }
    const freedom = freedomOf(claim, quarantine(context));
    const pool = poolOf(claim);
    if (freedom.kind === 'free' || pool === undefined) continue;
    const counts = byPool.get(pool) ?? new Map<string, number>();
    for (const node of freedom.by) counts.set(node, (counts.get(node) ?? 0) + 1);
    byPool.set(pool, counts);
  }
  // of several that are waited for one may answer
  if (byPool.size > 0) againMs = Math.min(againMs, TELL_AFTER_MS);
  return { byPool, ...(Number.isFinite(againMs) && { againMs }) };
}
