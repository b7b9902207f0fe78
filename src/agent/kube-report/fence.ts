/**
 * Whether this node may hold exclusive claims at full preference. Pure; times are of this node's own clock.
 *
 * The controller gives the claims of a node away when it has seen no renewal of its Lease for as long as the Lease says. A renewal was seen after
 * its request had begun, so a node that steps down at 0.8 of that time after the beginning of its last good request has done so before
 * anyone else steps up. All times come from one place (model/lease-times.ts).
 *
 * The way back is longer than the way down. When the Lease is renewed again, claims may have been given away in between, or may be
 * in this very moment by a controller that has not seen the renewal yet. So a node returns only after renewals have succeeded for
 * `settleMs`, and after it has seen the claims as they are then. Until then its routes stand lower, which costs nothing
 * where nobody else has them. A node begins that way too.
 */

import type { LeaseTimes } from '../../model/lease-times.ts';

/**
 * The watch of exclusive claims says something every 7 s, and is opened again after 8 s without a byte. Longer than the fence of the Lease counts
 * from such a word: whoever is cut off from the API as a whole steps down by its Lease.
 */
export const DEAF_MS = 20_000;

export interface Fence {
  /** when the last renewal that succeeded had begun */
  readonly renewedMs?: number;
  /** the same of the first in a row without a gap */
  readonly rowBeganMs?: number;
  /** the claims have been seen as they were after the row had settled */
  readonly hasCaughtUp: boolean;
}

export const FENCED: Fence = { hasCaughtUp: false };

export function isFenced(
  { renewedMs, hasCaughtUp }: Fence,
  nowMs: number,
  { fenceMs }: LeaseTimes,
): boolean {
  return !hasCaughtUp || renewedMs === undefined || nowMs - renewedMs >= fenceMs;
}

/** `nowMs` is when the answer came: an answer that took longer than the fence is the first of a new row */
export function renewed(
  fence: Fence,
  { startedMs, nowMs }: { readonly startedMs: number; readonly nowMs: number },
  times: LeaseTimes,
): Fence {
  const kept = lapsed(fence, nowMs, times);
  return {
    renewedMs: startedMs,
    rowBeganMs: kept.rowBeganMs ?? startedMs,
    hasCaughtUp: kept.hasCaughtUp,
  };
}

/**
 * A node may renew its Lease over one API server while the watch of its claims hangs on another that feeds it no more: it must step down as
 * well, since it would not hear that a claim is taken from it. `heardMs` undefined: there is no such claim.
 */
export function deaf(fence: Fence, heardMs: number | undefined, nowMs: number): Fence {
  return heardMs !== undefined && nowMs - heardMs >= DEAF_MS ? FENCED : fence;
}

/** What has lapsed once stays so until it has settled anew, however short the gap was. */
export function lapsed(fence: Fence, nowMs: number, { fenceMs }: LeaseTimes): Fence {
  const { renewedMs } = fence;
  if (renewedMs === undefined || nowMs - renewedMs < fenceMs) return fence;
  return FENCED;
}

/** It is time to look whether the claims are what this node believes. */
export function isSettled(
  { rowBeganMs, renewedMs, hasCaughtUp }: Fence,
  { settleMs }: LeaseTimes,
): boolean {
  if (hasCaughtUp || rowBeganMs === undefined || renewedMs === undefined) return false;
  return renewedMs - rowBeganMs >= settleMs;
}

/** `rowBeganMs` is that of the row for which the claims were asked: for another one they have to be asked for anew */
export function caughtUp(fence: Fence, rowBeganMs: number | undefined): Fence {
  return fence.rowBeganMs === rowBeganMs && rowBeganMs !== undefined
    ? { ...fence, hasCaughtUp: true }
    : fence;
}
