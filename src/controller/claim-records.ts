/** Claims of the API → what the allocator looks at. A claim that cannot be read still has its address. Pure. */

import type { ClaimRecord } from '../allocator/claim-record.ts';
import { parseClaimName } from '../model/claim-name.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { optional } from '../model/optional.ts';
import type { KubeObject } from '../sources/kube/api.ts';
import { convertClaimObject } from '../sources/kube/convert-documents.ts';
import { type CachedDocument, cachedDocument, knownOf } from './cached-document.ts';

/** undefined: its name is no address, so it has none */
export function claimRecord(document: CachedDocument<IpClaim>): ClaimRecord | undefined {
  const { name, uid, resourceVersion, createdMs, isBeingDeleted, labels, annotations } =
    document.meta;
  const known = knownOf(document);
  const address = known?.address ?? parseClaimName(name);
  if (address === undefined) return undefined;
  const base = {
    ...optional('isOnlyOurs', document.meta.isOnlyOurs),
    name,
    address,
    uid,
    resourceVersion,
    createdMs,
    isBeingDeleted,
    labels,
    annotations,
  };
  if (known === undefined) return { ...base, services: [], isUnreadable: true };
  const { pool, services, withdrawn } = known;
  return {
    ...base,
    ...optional('pool', pool),
    services,
    ...optional('withdrawn', withdrawn),
    isUnreadable: false,
    ...optional('fault', document.ok ? undefined : document.sentence),
  };
}

/** of the answer to a write or a GET */
export function recordOf(object: KubeObject): ClaimRecord | undefined {
  return claimRecord(cachedDocument(object, convertClaimObject(object)));
}
