/**
 * What a Service had when it was let in beside others: its ports and traffic policy, as a hash in an annotation of the claim. It tells who has
 * changed when the rules no longer hold, also to a controller that starts later. Pure.
 */

import type { ClaimService } from '../model/ip-claim.ts';
import type { Labels } from '../model/labels.ts';
import { SHARE_TERMS_ANNOTATION } from '../model/names.ts';
import { type Service, serviceKey } from '../model/service.ts';
import { unforgeableHash } from '../model/short-hash.ts';
import type { ClaimRecord } from './claim-record.ts';

export type FindService = (key: string) => Service | undefined;

/** Each Service has its hash once: one decision asks for it some thousand times, and it may have ten thousand ports. */
const known = new WeakMap<Service, string>();

/** of everything that decides whether two Services can share an address */
export function termsOf(service: Service): string {
  const terms = known.get(service) ?? newTerms(service);
  known.set(service, terms);
  return terms;
}

function newTerms({ ports, isLocal, selector }: Service): string {
  const list = ports.map(({ protocol, port }) => `${port}/${protocol}`).toSorted();
  const pods = Object.entries(selector).map(([name, value]) => `${name}=${value}`);
  // where traffic is not local, which pods are behind another Service does not matter
  return unforgeableHash([isLocal, ...list, ...(isLocal ? pods.toSorted() : [])].join());
}

/** of one Service, before and after a change */
export function hasSameTerms(now: Service | undefined, before: Service | undefined): boolean {
  if (now === undefined || now.uid !== before?.uid) return false;
  return termsOf(now) === termsOf(before);
}

/** True when the Service is not as it was when it was let in; unknown counts as unchanged. */
export function hasChanged(claim: ClaimRecord, service: Service): boolean {
  const agreed = agreedTerms(claim).get(serviceKey(service));
  return agreed !== undefined && agreed !== termsOf(service);
}

/**
 * What the annotation shall say when exactly these Services share the claim; undefined: it is not
 * needed. Members without terms get those that they have now: the first Service of a claim has none
 * until another one joins, and may have no turn of its own after that (it is being deleted, or its
 * namespace has thousands of others).
 */
export function wantedTerms(
  claim: ClaimRecord,
  services: readonly ClaimService[],
  { service, find }: { readonly service?: Service; readonly find?: FindService } = {},
): string | undefined {
  if (services.length < 2) return undefined;
  const agreed = new Map(agreedTerms(claim));
  for (const entry of services) {
    const key = serviceKey(entry);
    const member = agreed.has(key) ? undefined : find?.(key);
    if (member !== undefined && member.uid === (entry.uid ?? member.uid)) {
      agreed.set(key, termsOf(member));
    }
  }
  if (service !== undefined) agreed.set(serviceKey(service), termsOf(service));
  const keys = services.map(serviceKey);
  return keys.flatMap((key) => (agreed.has(key) ? `${key}=${agreed.get(key)}` : [])).join();
}

/** of the annotations of a claim, which are the same object until it is written */
const parsed = new WeakMap<Labels, ReadonlyMap<string, string>>();

function agreedTerms({ annotations }: ClaimRecord): ReadonlyMap<string, string> {
  const before = parsed.get(annotations);
  if (before !== undefined) return before;
  const agreed = new Map<string, string>();
  for (const entry of annotations[SHARE_TERMS_ANNOTATION]?.split(',') ?? []) {
    const [key, terms] = entry.split('=');
    if (key !== undefined && terms !== undefined) agreed.set(key, terms);
  }
  parsed.set(annotations, agreed);
  return agreed;
}
