/**
 * Who leads, pure: one Lease, and every contender's own clock. A record of another holder counts for the length of its lease from the
 * moment *we* first saw it; what it says about the time is never compared with ours. Our own hold ends `renewDeadlineMs` after the last
 * renewal was *sent*, which is before anybody else may take it, as long as no clock runs half again as fast as another.
 */

export interface ElectionTimes {
  readonly leaseMs: number;
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

export const ELECTION_TIMES: ElectionTimes = {
  leaseMs: 15_000,
  renewDeadlineMs: 10_000,
  retryMs: 2000,
};

/** A Lease as it stands at the API server. */
export interface LeaseRecord {
  /** empty: it was released, or never held */
  readonly holder: string;
  readonly renewTime: string;
  readonly leaseMs?: number;
  readonly transitions: number;
  /** the holder says that it is leaving: simple mode's next process may announce beside it */
  readonly isLeaving?: true;
}

export interface ElectionState {
  /** what others have written last, and when we saw it first */
  readonly seen?: { readonly text: string; readonly sinceMs: number };
  /** we hold it, on our own clock: writes are allowed until then */
  readonly heldUntilMs?: number;
  /** nobody else can have it before this */
  readonly fencedUntilMs?: number;
}

/** `uniqueBy` tells processes of one name apart */
export function leaseIdentity(name: string, uniqueBy: string): string {
  return `${name}_${uniqueBy}`;
}

export type ElectionIntent = 'create' | 'take' | 'renew' | 'wait';

/** a lease that says more than that is no reason to wait longer */
const LONGEST_LEASE_MS = 3_600_000;

export function observe(state: ElectionState, record: LeaseRecord, nowMs: number): ElectionState {
  const text = `${record.holder}\n${record.renewTime}\n${record.transitions}`;
  return state.seen?.text === text ? state : { ...state, seen: { text, sinceMs: nowMs } };
}

/** What to do about the record just read; `state` has observed it. */
export function intentOf(
  state: ElectionState,
  record: LeaseRecord | undefined,
  contender: { readonly identity: string; readonly times: ElectionTimes; readonly nowMs: number },
): ElectionIntent {
  if (record === undefined) return 'create';
  if (record.holder === contender.identity) return 'renew';
  if (record.holder === '') return 'take';
  return contender.nowMs >= expiryMs(state, record, contender) ? 'take' : 'wait';
}

/** When another's record will have been silent for the length of its lease. */
export function expiryMs(
  { seen }: ElectionState,
  record: LeaseRecord,
  { times, nowMs }: { readonly times: ElectionTimes; readonly nowMs: number },
): number {
  const theirs = Math.min(record.leaseMs ?? 0, LONGEST_LEASE_MS);
  return (seen?.sinceMs ?? nowMs) + Math.max(times.leaseMs, theirs);
}

/** Our write has been taken; it was sent at `sentMs`. */
export function held(state: ElectionState, sentMs: number, times: ElectionTimes): ElectionState {
  return {
    ...state,
    heldUntilMs: sentMs + times.renewDeadlineMs,
    fencedUntilMs: sentMs + times.leaseMs,
  };
}

/** Somebody else has it, or we have given it back. */
export function lost({ seen }: ElectionState): ElectionState {
  return seen === undefined ? {} : { seen };
}

export function isHeld({ heldUntilMs }: ElectionState, nowMs: number): boolean {
  return heldUntilMs !== undefined && nowMs < heldUntilMs;
}
