/**
 * An anycast claim that became exclusive: all go on announcing it until those that do can hear that one alone shall. One that is cut off from the API would stand
 * beside the holder, as good as that one, for as long as it is. No I/O.
 */

import type { Clock } from 'bgp-ts';
import { LONGEST_LEASE_SECONDS } from '../model/lease-times.ts';
import { nodeLabel } from '../model/names.ts';
import type { MoveMemory } from './placement-memory.ts';
import type { Next } from './placement-next.ts';
import type { PlacementNodes } from './placement-nodes.ts';
import { stillAnycast } from './placement-status.ts';
import type { PlacementSubject } from './placement-subject.ts';

/** every node that lives has renewed its Lease in this time */
const RENEWED_MS = LONGEST_LEASE_SECONDS * 1000 + 5000;
/** a node that comes back or goes is noticed at once */
const AGAIN_MS = 60_000;

export interface ModeOptions {
  readonly clock: Clock;
  readonly nodes: Pick<PlacementNodes, 'unaware'>;
  /** for how long a node that is cut off may go on announcing what it knows; absent: for ever */
  readonly maxStaleMs?: number;
}

/** undefined: nobody is waited for any more */
export function awaitUnaware(
  { claim, meta, demand }: PlacementSubject,
  { sinceMs, labelled }: MoveMemory,
  { clock, nodes, maxStaleMs = Number.POSITIVE_INFINITY }: ModeOptions,
): Next | undefined {
  const waitedMs = clock.now() - sinceMs;
  if (waitedMs >= maxStaleMs) return undefined;
  const { node: holder = '' } = claim;
  const version = labelled.get(nodeLabel(holder)) ?? BigInt(meta.resourceVersion);
  const unaware = nodes.unaware(demand, version, waitedMs >= RENEWED_MS);
  if (unaware.length === 0) return undefined;
  const leftMs = RENEWED_MS - waitedMs;
  if (leftMs > 0) return { kind: 'rest', again: { kind: 'retry', afterMs: leftMs } };
  const again = { kind: 'retry', afterMs: Math.min(AGAIN_MS, maxStaleMs - waitedMs) } as const;
  return { kind: 'rest', again, verdict: stillAnycast(holder, unaware) };
}
