/**
 * In which order the claims of one Service are written, and what of it is done although another write of it fails: a claim that the API refuses for good
 * must not keep another one announced that has nobody behind it any more. Decides nothing else.
 */

import { type ClaimRecord, entryOf } from '../allocator/claim-record.ts';
import { includes } from '../allocator/decide-external.ts';
import type { Grant } from '../allocator/decision.ts';
import { externalAddresses, isLocalUntold } from '../allocator/service-request.ts';
import type { Service } from '../model/service.ts';
import { ApiError } from '../sources/kube/api.ts';
import { DONE, type QueueOutcome } from '../sources/kube/key-queue.ts';
import type { WriteOutcome } from './claim-writer.ts';

type Write = (grant: Grant) => Promise<WriteOutcome>;

export async function writtenTogether(
  grants: readonly Grant[],
  write: Write,
): Promise<WriteOutcome> {
  const outcomes = await Promise.allSettled(grants.map(write));
  let isAgain = false;
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') throw outcome.reason;
    isAgain ||= outcome.value === 'again';
  }
  return isAgain ? 'again' : 'done';
}

/** One after the other, until one fails. What the Service has been told of goes on all the same: its last endpoint may have gone. */
export async function writtenInTurn(
  service: Service,
  grants: readonly Grant[],
  write: Write,
): Promise<WriteOutcome> {
  const outcomes: WriteOutcome[] = [];
  let failure: unknown;
  for (const grant of grants) {
    const isTold = grant.kind === 'keep' && isToldOf(service, grant.claim, false);
    if (failure !== undefined && !isTold) continue;
    try {
      outcomes.push(await write(grant));
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return outcomes.includes('again') ? 'again' : 'done';
}

/** One after the other, each whatever became of those before it; the first failure, or else the first retry, is that of all. */
export async function eachOf(
  claims: readonly ClaimRecord[],
  work: (claim: ClaimRecord) => Promise<QueueOutcome>,
): Promise<QueueOutcome> {
  let outcome = DONE;
  let failure: ApiError | undefined;
  for (const claim of claims) {
    try {
      const now = await work(claim);
      if (outcome.kind === 'done') outcome = now;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return outcome;
}

/** `isEvicted`: a user's own list of external IPs does not keep it in a claim whose rules it breaks, or whose pool allows none */
export function isToldOf(service: Service, claim: ClaimRecord, isEvicted: boolean): boolean {
  if (entryOf(claim, service) === undefined) return false;
  const { address } = claim;
  if (includes(service.ingress, address)) return true;
  if (isEvicted || isLocalUntold(service)) return false;
  return includes(externalAddresses(service), address);
}
