/**
 * The bodies of the writes that carry out a decision: a new claim, a Service more or less on one, one that is given back. Pure. Every
 * patch is guarded by the version that the decision was made on.
 */

import type { Address, Family } from 'bgp-ts';
import { formatClaimName } from '../model/claim-name.ts';
import type { ClaimService } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import {
  ANYCAST_LABEL,
  API_VERSION,
  FORMER_NODES_ANNOTATION,
  FORMER_VERSION_ANNOTATION,
  POOL_LABEL,
  RELEASED_AT_ANNOTATION,
  RELEASED_BY_ANNOTATION,
  SHARE_TERMS_ANNOTATION,
} from '../model/names.ts';
import { type Service, serviceKey } from '../model/service.ts';
import { shortHash } from '../model/short-hash.ts';
import {
  AUTO_EXTERNAL,
  type ClaimRecord,
  isOurReason,
  othersOn,
  SHARE_KEY,
  wantedEntry,
} from './claim-record.ts';
import type { Grant } from './decision.ts';
import { type FindService, wantedTerms } from './share-terms.ts';

/** Whether anybody is behind a Service: `local` is decided by each node alone. */
export type Reach = 'some' | 'none' | 'local' | 'unknown';

export type ReachOf = (key: string, family: Family) => Reach;

export type Withdrawn = { readonly reason: string } | undefined;

/** of an address whose endpoints come and go */
export interface Damping {
  /** it is not announced yet, although somebody is behind it */
  readonly isHeld: boolean;
  /** if it is withdrawn now: how often that was, and when it may be announced again; absent: at once */
  readonly flaps?: { readonly count: number; readonly until: string };
}

const CALM: Damping = { isHeld: false };
const NO_ENDPOINTS = 'NoEndpoints: no Service of this claim has an endpoint';

function noEndpoints({ flaps }: Damping): Withdrawn {
  if (flaps === undefined) return { reason: NO_ENDPOINTS };
  const { count, until } = flaps;
  const why = `its Services had no endpoint ${count} times, each within a minute of the last announcement`;
  return { reason: `NoEndpoints: ${why}, so it is announced again at ${until} at the earliest` };
}

/**
 * What withdrawn shall be. A person's word stands; not to know changes nothing; an address is announced while anybody is behind
 * any of its Services, unless they come and go.
 */
export function wantedWithdrawn(
  before: Withdrawn,
  services: readonly ClaimService[],
  reachOf: (key: string) => Reach,
  damping: Damping = CALM,
): Withdrawn {
  const isOurs =
    isOurReason(before?.reason, 'noEndpoints') || isOurReason(before?.reason, 'released');
  if (before !== undefined && !isOurs) return before;
  const reaches = services.map((entry) => reachOf(serviceKey(entry)));
  const standing = isOurReason(before?.reason, 'released') ? undefined : before;
  if (reaches.includes('local')) return undefined;
  if (reaches.includes('some')) return damping.isHeld ? standing : undefined;
  if (reaches.length === 0 || reaches.includes('unknown')) return standing;
  return standing ?? noEndpoints(damping);
}

function inFamily(
  { address }: { readonly address: Address },
  reachOf: ReachOf,
): (key: string) => Reach {
  return (key) => reachOf(key, address.family);
}

export interface NewClaim {
  readonly grant: Extract<Grant, { kind: 'create' }>;
  readonly service: Service;
  readonly pool: IpPool;
  readonly shareKey?: string;
  readonly reachOf: ReachOf;
}

/** what is looked at of the body of a new claim */
export interface NewClaimBody {
  readonly spec: { readonly services: readonly ClaimService[] };
}

export function newClaim({ grant, service, pool, shareKey, reachOf }: NewClaim): NewClaimBody {
  const services = [wantedEntry(service)];
  const withdrawn = wantedWithdrawn(undefined, services, inFamily(grant, reachOf));
  const body = {
    apiVersion: API_VERSION,
    kind: 'IPClaim',
    metadata: {
      name: formatClaimName(grant.address),
      labels: {
        [POOL_LABEL]: labelValue(pool.name),
        ...(pool.placement.mode === 'anycast' && { [ANYCAST_LABEL]: '' }),
      },
      annotations: {
        ...(shareKey !== undefined && { [SHARE_KEY]: shareKey }),
        ...(grant.isAutoExternal && { [AUTO_EXTERNAL]: 'auto' }),
      },
    },
    spec: { pool: pool.name, services, ...(withdrawn !== undefined && { withdrawn }) },
  };
  return body;
}

function labelValue(name: string): string {
  return name.length <= 63 ? name : `${name.slice(0, 54)}-${shortHash(name)}`;
}

export interface GuardedPatch {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly labels?: object;
    readonly annotations?: object;
  };
  readonly spec: {
    readonly services: readonly ClaimService[];
    /** null: it is announced; absent: as it was */
    readonly withdrawn?: { readonly reason: string } | null;
    readonly pool?: string;
  };
}

export interface ClaimUpdate {
  readonly claim: ClaimRecord;
  readonly service: Service;
  readonly shareKey?: string;
  /** the pool that it names is gone, and this one has its address */
  readonly heir?: IpPool | undefined;
  /** the other Services of the claim */
  readonly find?: FindService;
  readonly reachOf: ReachOf;
  readonly damping?: Damping;
}

/** The claim with this Service on it, as it is now; undefined: it says all that already. */
export function updatedClaim({
  claim,
  service,
  shareKey,
  heir,
  find,
  reachOf,
  damping,
}: ClaimUpdate): GuardedPatch | undefined {
  const key = serviceKey(service);
  const entry = wantedEntry(service);
  const services = withEntry(claim, key, entry);
  const withdrawn = wantedWithdrawn(claim.withdrawn, services, inFamily(claim, reachOf), damping);
  const terms = wantedTerms(claim, services, { service, ...(find !== undefined && { find }) });
  const isAlone = othersOn(claim, key).length === 0;
  const annotations = changedAnnotations(claim, { isAlone, shareKey, terms });
  const isSame =
    sameServices(services, claim.services) &&
    withdrawn?.reason === claim.withdrawn?.reason &&
    annotations === undefined &&
    heir === undefined;
  if (isSame) return undefined;
  return {
    metadata: {
      resourceVersion: claim.resourceVersion,
      ...(heir !== undefined && { labels: { [POOL_LABEL]: labelValue(heir.name) } }),
      ...(annotations !== undefined && { annotations }),
    },
    spec: {
      services,
      withdrawn: withdrawn ?? null,
      ...(heir !== undefined && { pool: heir.name }),
    },
  };
}

/** in place, since the order of those that share says who came first */
function withEntry(claim: ClaimRecord, key: string, entry: ClaimService): readonly ClaimService[] {
  const at = claim.services.findIndex((each) => serviceKey(each) === key);
  if (at < 0) return [...claim.services, entry];
  const rest = claim.services.filter((each, index) => index === at || serviceKey(each) !== key);
  return rest.map((each) => (serviceKey(each) === key ? entry : each));
}

const OF_RELEASE = [RELEASED_BY_ANNOTATION, RELEASED_AT_ANNOTATION, FORMER_VERSION_ANNOTATION];

/** The sharing word is that of whoever has the claim alone. */
function changedAnnotations(
  claim: ClaimRecord,
  {
    isAlone,
    shareKey,
    terms,
  }: {
    readonly isAlone: boolean;
    readonly shareKey: string | undefined;
    readonly terms: string | undefined;
  },
): Readonly<Record<string, string | null>> | undefined {
  const changes: Record<string, string | null> = changedTerms(claim, terms);
  if (isAlone && claim.annotations[SHARE_KEY] !== shareKey) changes[SHARE_KEY] = shareKey ?? null;
  for (const name of OF_RELEASE) {
    if (claim.annotations[name] !== undefined) changes[name] = null;
  }
  return Object.keys(changes).length === 0 ? undefined : changes;
}

function changedTerms(
  { annotations }: ClaimRecord,
  terms: string | undefined,
): Record<string, string | null> {
  if (annotations[SHARE_TERMS_ANNOTATION] === terms) return {};
  return { [SHARE_TERMS_ANNOTATION]: terms ?? null };
}

function sameServices(a: readonly ClaimService[], b: readonly ClaimService[]): boolean {
  return (
    a.length === b.length &&
    a.every((entry, index) => {
      const other = b[index];
      return (
        entry.namespace === other?.namespace &&
        entry.name === other.name &&
        entry.uid === other.uid &&
        entry.healthCheckNodePort === other.healthCheckNodePort
      );
    })
  );
}

/** The claim without this Service. The last one to leave releases it: nobody announces it any more, and nobody else gets it yet. */
export function leftClaim(
  claim: ClaimRecord,
  key: string,
  {
    atText,
    reachOf,
    damping,
  }: { readonly atText: string; readonly reachOf: ReachOf; readonly damping?: Damping },
): GuardedPatch {
  const { resourceVersion } = claim;
  const services = othersOn(claim, key);
  if (services.length > 0) {
    const withdrawn = wantedWithdrawn(claim.withdrawn, services, inFamily(claim, reachOf), damping);
    const annotations = changedTerms(claim, wantedTerms(claim, services));
    const metadata = {
      resourceVersion,
      ...(Object.keys(annotations).length > 0 && { annotations }),
    };
    return { metadata, spec: { services, withdrawn: withdrawn ?? null } };
  }
  const isOurs =
    claim.withdrawn === undefined || isOurReason(claim.withdrawn.reason, 'noEndpoints');
  const hasFormer = claim.annotations[FORMER_NODES_ANNOTATION] !== undefined;
  const reason = `Released: Service ${key} has given it back`;
  return {
    metadata: {
      resourceVersion,
      annotations: {
        [RELEASED_BY_ANNOTATION]: key,
        [RELEASED_AT_ANNOTATION]: atText,
        // who lost its label before had no part in it at this version already
        ...(hasFormer && { [FORMER_VERSION_ANNOTATION]: resourceVersion }),
      },
    },
    spec: { services, ...(isOurs && { withdrawn: { reason } }) },
  };
}
