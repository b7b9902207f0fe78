/** What the allocator looks at, and what it answers for one Service. Data only. */

import type { Address, Family } from 'bgp-ts';
import type { Labels } from '../model/labels.ts';
import { ANNOTATION } from '../model/names.ts';
import type { Service } from '../model/service.ts';
import type { AddressBook } from './address-book.ts';
import type { ClaimIndex } from './claim-index.ts';
import type { ClaimRecord } from './claim-record.ts';
import type { PoolChoice } from './pool-choice.ts';
import type { ServiceRequest } from './service-request.ts';
import type { Compared } from './sharing.ts';
import type { Waiting } from './waiting.ts';

/** Everything that a decision may depend on. */
export interface World {
  readonly book: AddressBook;
  readonly claims: ClaimIndex;
  readonly pools: PoolChoice;
  readonly waiting: Waiting;
  /** Services without a class are ours */
  readonly isDefaultClass: boolean;
  readonly service: (key: string) => Service | undefined;
  readonly namespaceLabels: (namespace: string) => Labels | undefined;
  /** addresses that Services of this namespace have, are about to get, or have given back and that are not free yet; one may come twice */
  readonly addressesOf: (namespace: string) => Iterable<Address>;
  /** Services that list this address in spec.externalIPs, whether it is reserved for them or not */
  readonly listersOf: (address: Address) => Iterable<string>;
  /** the Services of its namespace list more external IPs than are read, and this is one of those that came after */
  readonly isListBeyond: (service: Service) => boolean;
  /** the claim that somebody deleted, and whose address nodes may still announce */
  readonly deletedAt: (address: Address) => ClaimRecord | undefined;
  /** by the wall clock: its place among those that wait for a pool */
  readonly waitsSince: (service: Service) => number;
  /** another Service writes a claim under this sharing word at this moment */
  readonly isShareBusy: (word: string, key: string) => boolean;
}

/** One Service in its world. */
export interface Case {
  readonly key: string;
  readonly service: Service;
  readonly request: ServiceRequest;
  readonly world: World;
  /** what this decision has found out so far of Services that share an address */
  readonly compared: Compared;
}

/** An address that the Service has, or shall have. */
export type Grant =
  | {
      readonly kind: 'keep';
      readonly claim: ClaimRecord;
      /** it stays, but something about it is not as it should be */
      readonly warning?: Warning;
    }
  | {
      readonly kind: 'create';
      readonly address: Address;
      readonly pool: string;
      /** it was in the Service's status before we had a claim for it */
      readonly isAdopted: boolean;
      /** it is written into spec.externalIPs by us */
      readonly isAutoExternal: boolean;
    }
  /** a claim that exists gets this Service as well: shared, given back, or left by one of the same name that is gone */
  | { readonly kind: 'join'; readonly claim: ClaimRecord };

export interface Warning {
  readonly reason: 'ShareConflict' | 'ClaimUnreadable';
  readonly message: string;
}

export type Reason =
  | 'BadRequest'
  | 'WrongFamily'
  | 'AddressNotInPool'
  | 'AddressTaken'
  | 'AddressQuarantined'
  | 'ShareConflict'
  | 'PoolNotFound'
  | 'PoolRefused'
  | 'PoolNotAllowed'
  | 'NoPool'
  | 'NoPoolForService'
  | 'PoolExhausted'
  | 'NamespaceLimit'
  | 'ExternalIPNotAllowed'
  | 'ListedByOther'
  | 'ClaimUnreadable'
  | 'OwnedByOther';

/** Something wanted that cannot be had: `waiting` ends by itself, `refused` when somebody changes something. */
export interface Problem {
  readonly kind: 'waiting' | 'refused';
  readonly reason: Reason;
  /** a sentence */
  readonly message: string;
  /** the Service is served without it */
  readonly isOptional?: boolean;
  /** what would help, for who wakes those that wait */
  readonly pools?: readonly { readonly pool: string; readonly family: Family }[];
  readonly address?: Address;
  readonly shareKey?: string;
  /** addresses that Services of this namespace have are in the way */
  readonly limitOf?: string;
}

export type Answer = Grant | Problem;

/** The condition herald.dev/Allocated of the Service. */
export interface Verdict {
  readonly status: 'True' | 'False';
  /** `WriteRefused`: it was decided, and the API server does not let us */
  readonly reason: 'Allocated' | 'WriteRefused' | Reason;
  readonly message: string;
}

export interface ServiceDecision {
  readonly kind:
    | 'not-ours'
    | 'being-deleted'
    | 'ready'
    | 'allocate'
    | 'adopt'
    | 'waiting'
    | 'refused'
    | 'owned-by-other';
  readonly grants: readonly Grant[];
  /** claims that it shall no longer be in; only when its status and spec no longer name their addresses */
  readonly leave: readonly ClaimRecord[];
  /** what status.loadBalancer.ingress shall be; absent: not ours to write */
  readonly ingress?: readonly Address[];
  /** what shall be in spec.externalIPs and what shall not; the rest of the list is the user's */
  readonly externalIps: { readonly add: readonly Address[]; readonly drop: readonly Address[] };
  /** absent: no condition of ours belongs on it */
  readonly verdict?: Verdict;
  readonly problems: readonly Problem[];
  /** for events: what is ignored or not announced, and why */
  readonly warnings: readonly string[];
}

export const ALLOCATED_CONDITION = 'herald.dev/Allocated';

/** by its own words, or it did once: thousands of Services do not */
export function asksForAddress(service: Service): boolean {
  return (
    service.isLoadBalancer ||
    service.externalIps.length > 0 ||
    service.annotations[ANNOTATION.externalIp] !== undefined ||
    service.conditions.some(({ type }) => type === ALLOCATED_CONDITION)
  );
}

export function isGrant(answer: Answer): answer is Grant {
  return answer.kind === 'keep' || answer.kind === 'create' || answer.kind === 'join';
}

export function grantedAddress(grant: Grant): Address {
  return grant.kind === 'create' ? grant.address : grant.claim.address;
}
