/**
 * Who is waited for where the mode of a claim changes. No I/O.
 *
 * An anycast claim that became exclusive: all go on announcing it until each of those that do has
 * taken that up, or has renewed its Lease since. One that is cut off from the API would stand
 * beside the holder, as good as that one, for as long as it is.
 *
 * An exclusive claim that became anycast: its holder goes on beside the others until those have had
 * their time. It may be one that is not to announce it then, and leaves when its label goes.
 */

import type { Clock } from 'bgp-ts';
import { DEFAULT_LEASE_TIMES } from '../model/lease-times.ts';
import { ANYCAST_LABEL, isNodeLabel, nodeLabel } from '../model/names.ts';
import type { MoveMemory } from './placement-memory.ts';
import type { Next } from './placement-next.ts';
import type { PlacementNodes } from './placement-nodes.ts';
import { patienceMs } from './placement-refusals.ts';
import { stillAnycast } from './placement-status.ts';
import type { PlacementSubject } from './placement-subject.ts';

/** a node that lives has renewed its Lease twice in this time, and we have seen it */
const RENEWED_MS = 2 * DEFAULT_LEASE_TIMES.lastSignMs + 1000;
/** what is over by itself is not worth a write to each claim */
const SAY_MS = 20_000;
/** a node without a Lease says within 75 s what it has taken up */
const SAY_UNSELECTED_MS = 100_000;
/** a node that comes back or goes is noticed at once; this is for others, e.g. after a stall */
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
  const unaware = nodes.unaware(demand, version, sinceMs);
  if (unaware.length === 0) return undefined;
  const isEarly = waitedMs < RENEWED_MS;
  const nextMs = isEarly ? RENEWED_MS - waitedMs : Math.min(waitedMs, AGAIN_MS);
  const again = { kind: 'retry', afterMs: Math.min(nextMs, maxStaleMs - waitedMs) } as const;
  const names = unaware
    .filter(({ isSelected }) => waitedMs >= (isSelected ? SAY_MS : SAY_UNSELECTED_MS))
    .map(({ name }) => name);
  if (names.length === 0) return { kind: 'rest', again };
  return { kind: 'rest', again, verdict: stillAnycast(holder, names) };
}

/** Claims that became anycast, and since when all may announce them. A new leader counts anew. */
export class FormerHolders {
  readonly #sinceMs = new Map<string, number>();

  /** how long its nodes keep their labels yet */
  leftMs({ name, claim }: Pick<PlacementSubject, 'name' | 'claim'>, nowMs: number): number {
    const hasHolder = Object.keys(claim.labels).some(isNodeLabel);
    if (!(hasHolder && ANYCAST_LABEL in claim.labels)) {
      this.forget(name);
      return 0;
    }
    const sinceMs = this.#sinceMs.get(name) ?? nowMs;
    this.#sinceMs.set(name, sinceMs);
    return Math.max(sinceMs + patienceMs(claim) - nowMs, 0);
  }

  forget(name: string): void {
    this.#sinceMs.delete(name);
  }
}
