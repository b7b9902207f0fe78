/** An IPClaim as the allocator looks at it: who has the address, under which word it is shared, whether it is on its way out. Pure. */

import type { Address } from 'bgp-ts';
import type { ClaimService } from '../model/ip-claim.ts';
import type { Labels } from '../model/labels.ts';
import { ANNOTATION, RELEASED_AT_ANNOTATION, RELEASED_BY_ANNOTATION } from '../model/names.ts';
import { type Service, serviceKey } from '../model/service.ts';

export interface ClaimRecord {
  readonly name: string;
  readonly address: Address;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly createdMs: number;
  readonly isBeingDeleted: boolean;
  /** nobody but us has written it, by the API server's record */
  readonly isOnlyOurs?: true;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly pool?: string;
  readonly services: readonly ClaimService[];
  readonly withdrawn?: { readonly reason: string };
  /** of the write that released it, where it has been written since; a flag on a released claim is no second release */
  readonly releasedVersion?: string;
  /** not even whose it is can be read: it has its address, and nothing else is known of it */
  readonly isUnreadable: boolean;
  /** why the rest of it cannot be used, where whose it is can be read */
  readonly fault?: string;
}

/** annotation on a claim: the word under which its Services share it */
export const SHARE_KEY = ANNOTATION.share;
/** annotation on a claim: its address was written into spec.externalIPs by us */
export const AUTO_EXTERNAL = ANNOTATION.externalIp;

/** what a claim's withdrawn.reason begins with when the controller wrote it; every other reason is a person's */
export const OUR_REASONS = { noEndpoints: 'NoEndpoints', released: 'Released' } as const;

/** spec.services has room for so many */
export const MAX_SERVICES = 64;

export function releasedBy(claim: ClaimRecord): string | undefined {
  if (claim.isUnreadable || claim.services.length > 0) return undefined;
  return claim.annotations[RELEASED_BY_ANNOTATION];
}

/** The same release of the same claim: nobody has had the address in between. */
export function isSameRelease(a: ClaimRecord, b: ClaimRecord): boolean {
  const by = releasedBy(a);
  const at = (claim: ClaimRecord) => claim.annotations[RELEASED_AT_ANNOTATION];
  if (by === undefined || at(a) === undefined || a.uid !== b.uid) return false;
  const isWithdrawn = a.withdrawn !== undefined && b.withdrawn !== undefined;
  return isWithdrawn && releasedBy(b) === by && at(b) === at(a);
}

/** made by a person for no Service: never touched, and nobody else gets the address */
export function isHandMade(claim: ClaimRecord): boolean {
  return claim.services.length === 0 && releasedBy(claim) === undefined;
}

/** The entry of exactly this Service: one of the same name that is gone has another uid. */
export function entryOf(claim: ClaimRecord, service: Service): ClaimService | undefined {
  return claim.services.find(
    (entry) =>
      entry.namespace === service.namespace &&
      entry.name === service.name &&
      (entry.uid === undefined || entry.uid === service.uid),
  );
}

export function othersOn(claim: ClaimRecord, key: string): readonly ClaimService[] {
  return claim.services.filter((entry) => serviceKey(entry) !== key);
}

export function isOurReason(reason: string | undefined, ours: 'noEndpoints' | 'released'): boolean {
  return reason === OUR_REASONS[ours] || (reason?.startsWith(`${OUR_REASONS[ours]}:`) ?? false);
}

/** What the Service's entry in a claim shall say. */
export function wantedEntry(service: Service): ClaimService {
  const { namespace, name, uid, isLocal, healthCheckNodePort } = service;
  const port = isLocal ? healthCheckNodePort : undefined;
  return { namespace, name, uid, ...(port !== undefined && { healthCheckNodePort: port }) };
}
