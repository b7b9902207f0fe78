/**
 * Every time that follows from how long a node's Lease lasts: here and nowhere else, so that an agent which steps down and a controller
 * which gives its claims away never go by different rules. Pure.
 *
 * The Lease carries the duration (`leaseDurationSeconds`), and each node is judged by its own. A 0.1 controller knows no other than 15 s:
 * nothing longer is taken, or it would give claims away before their holder has stepped down.
 */

export const SHORTEST_LEASE_SECONDS = 2;
export const LONGEST_LEASE_SECONDS = 15;

export interface LeaseTimes {
  readonly durationMs: number;
  /** from one renewal to the next */
  readonly renewMs: number;
  /** a request is given up after this: before the next renewal is due */
  readonly requestMs: number;
  /** after a renewal that failed */
  readonly retryMs: number;
  /** so long after the beginning of the last good renewal the holder steps down by itself */
  readonly fenceMs: number;
  /** how long renewals have to succeed before the holder steps up again: longer than a controller takes to see one */
  readonly settleMs: number;
  /** how often the holder looks whether it has to step down */
  readonly lookMs: number;
  /** silent for longer than a renewal may take */
  readonly lateMs: number;
  /** longest time between two Leases of anybody that counts as silence of this one; what is longer is our own deafness */
  readonly deafMs: number;
  /** how much later than its last renewal the node may have died */
  readonly lastSignMs: number;
}

const RENEW_JITTER = 0.1;
/** a watch may take so long to bring a renewal, whatever the duration */
const SHORTEST_SETTLE_MS = 1000;

export function leaseTimes(seconds: number): LeaseTimes {
  const durationMs = seconds * 1000;
  const renewMs = durationMs / 3;
  return {
    durationMs,
    renewMs,
    requestMs: durationMs / 5,
    retryMs: durationMs / 15,
    fenceMs: durationMs * 0.8,
    settleMs: Math.max((durationMs * 4) / 15, SHORTEST_SETTLE_MS),
    lookMs: durationMs / 30,
    lateMs: durationMs / 2,
    deafMs: durationMs * 0.4,
    lastSignMs: renewMs * (1 + RENEW_JITTER),
  };
}

/** up to a tenth earlier or later, so that a thousand nodes do not renew together; `random` is from 0 to 1 */
export function renewAfterMs({ renewMs }: LeaseTimes, random: number): number {
  return renewMs * (1 + RENEW_JITTER * (2 * random - 1));
}

/** What a Lease says, within what is taken; one that says nothing is of the default length. */
export function leaseSeconds(written: number | undefined): number {
  if (written === undefined) return LONGEST_LEASE_SECONDS;
  return Math.min(Math.max(written, SHORTEST_LEASE_SECONDS), LONGEST_LEASE_SECONDS);
}

/** Of an agent that says nothing else, and of every 0.1 agent. */
export const DEFAULT_LEASE_TIMES: LeaseTimes = leaseTimes(LONGEST_LEASE_SECONDS);
