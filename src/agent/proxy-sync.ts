/**
 * Has kube-proxy written what it must know of a claim? Pure.
 *
 * It learns of an address from the status of its Service, which is told after the claim; it takes what it has heard of when it begins to
 * write, and it begins at most once a second. So rules that were finished after the claim was seen prove nothing: the creation of the
 * Service alone has it writing in just that moment. What counts is when a writing began.
 */

import { FAMILIES, type Family } from 'bgp-ts';
import type { ProxyHealth } from './proxy-health.ts';
import type { ProxyMetrics, SyncCounts } from './proxy-metrics.ts';

/** what is to be in the rules, and since when kube-proxy can be taken to have heard of it; wall clock */
export interface Wanted {
  readonly family: Family;
  readonly seenMs: number;
  readonly heardMs: number;
}

/** the last writing whose beginning is known */
export type SyncStarts = Readonly<
  Partial<Record<Family, { readonly counts: SyncCounts; readonly startedMs?: number }>>
>;

/** the time between two writings, and for the second one to end */
const SETTLED_MS = 2000;

/** What the next look at the metrics adds: a writing began by how much longer all of them took, if it is the only one since. */
export function followSyncs(before: SyncStarts, metrics: ProxyMetrics): SyncStarts {
  const starts: { -readonly [family in Family]?: SyncStarts[family] } = {};
  for (const family of FAMILIES) {
    const counts = metrics[family];
    if (counts === undefined) continue;
    const known = before[family];
    const writings = counts.syncs - (known?.counts.syncs ?? Number.NaN);
    if (known !== undefined && writings === 0) starts[family] = { ...known, counts };
    else if (known === undefined || writings !== 1) starts[family] = { counts };
    else {
      const startedMs = counts.syncedMs - (counts.busyMs - known.counts.busyMs);
      starts[family] = { counts, startedMs };
    }
  }
  return starts;
}

/** All that it had heard of at `heardMs` is in the rules. */
export function isWrittenBySyncs(starts: SyncStarts, wanted: Wanted, nowMs: number): boolean {
  const known = starts[wanted.family];
  if (known === undefined) return false;
  const { counts, startedMs = beganBefore(counts, nowMs) } = known;
  if (startedMs === undefined) return false;
  if (startedMs >= wanted.heardMs) return true;
  return nowMs >= wanted.heardMs && counts.queuedMs <= startedMs;
}

/** what was heard of while it last wrote would have been written by now as well */
function beganBefore({ syncedMs }: SyncCounts, nowMs: number): number | undefined {
  return nowMs - syncedMs >= SETTLED_MS ? syncedMs : undefined;
}

/** Without metrics there is the end of the last writing, and time. */
export function isWrittenByHealth(health: ProxyHealth, wanted: Wanted, nowMs: number): boolean {
  const { family, seenMs, heardMs } = wanted;
  const isLate = nowMs >= heardMs + SETTLED_MS / 2;
  if (health.syncedMs === undefined) return health.isHealthy && isLate;
  const syncedMs = health.syncedMs[family];
  if (syncedMs === undefined) return false;
  return syncedMs > heardMs || (isLate && syncedMs > seenMs);
}
