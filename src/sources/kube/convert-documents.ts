/**
 * Our own kinds as the API gives them → the model, by the converters that files go through too. The API server has checked them, but
 * perhaps against an older schema, or none of the fields that came later: what does not fit is a refusal with a sentence, like any other.
 */

import type { BgpPeer } from '../../model/bgp-peer.ts';
import { type ClaimCore, claimCore } from '../../model/claim-core.ts';
import { convertClaim } from '../../model/convert-claim.ts';
import { convertPeer } from '../../model/convert-peer.ts';
import { convertPool } from '../../model/convert-pool.ts';
import type { IpClaim } from '../../model/ip-claim.ts';
import type { IpPool } from '../../model/ip-pool.ts';
import { EXCLUSIVE_CLAIMS_CONDITION } from '../../model/names.ts';
import { optional } from '../../model/optional.ts';
import type { Converted, Refused } from '../../model/refusal.ts';
import type { KubeObject } from './api.ts';
import { convertConditions } from './convert-condition.ts';
import { part } from './loose-fields.ts';

/** `core`: what can be read of one that is refused */
export type ConvertedClaim =
  | Exclude<Converted<IpClaim>, Refused>
  | (Refused & { readonly core?: ClaimCore });

export function convertClaimObject(object: KubeObject): ConvertedClaim {
  const made = checked(() => convertClaim(object, 'api'));
  return made.ok ? made : { ...made, ...optional('core', claimCore(object)) };
}

export function convertPoolObject(object: KubeObject): Converted<IpPool> {
  return checked(() => {
    const pool = convertPool(object);
    if (!pool.ok || !hasExclusiveClaims(object)) return pool;
    return { ...pool, object: { ...pool.object, hasExclusiveClaims: true } };
  });
}

/** An agent sees no claim that is placed nowhere yet: the controller says on the pool that there are some. */
function hasExclusiveClaims(object: KubeObject): boolean {
  return convertConditions(part(object, 'status')).some(
    ({ type, status }) => type === EXCLUSIVE_CLAIMS_CONDITION && status === 'True',
  );
}

export function convertPeerObject(object: KubeObject): Converted<BgpPeer> {
  return checked(() => convertPeer(object, 'api'));
}

/** In files such an error is a mistake of ours, since the schema has just been applied; here the schema may have been another one. */
function checked<T>(convert: () => Converted<T>): Converted<T> {
  try {
    return convert();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const what = 'it was stored under another version of its schema';
    const sentence = `${what} (${error.message}); apply it again, or delete it`;
    return { ok: false, path: [], sentence };
  }
}
