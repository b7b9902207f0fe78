/**
 * A pool, claim or peer as the controller's caches hold it: what the converter made of it, or why it refused it, and beside it
 * what a guarded write needs. Pure. One bad object is one entry that says so; it never hides another.
 */

import type { ClaimCore } from '../model/claim-core.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { Labels } from '../model/labels.ts';
import { optional } from '../model/optional.ts';
import type { Converted } from '../model/refusal.ts';
import type { Condition } from '../model/service.ts';
import type { KubeObject } from '../sources/kube/api.ts';
import { convertConditions } from '../sources/kube/convert-condition.ts';
import { labels, part } from '../sources/kube/loose-fields.ts';
import { isRecordOfOurs } from '../sources/kube/written-fields.ts';

export type CachedDocument<T> =
  | { readonly ok: true; readonly meta: DocumentMeta; readonly object: T }
  /** `sentence` says what is wrong and what to do */
  | {
      readonly ok: false;
      readonly meta: DocumentMeta;
      readonly sentence: string;
      /** what can be read of a claim all the same */
      readonly core?: ClaimCore;
    };

export interface DocumentMeta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** wall-clock milliseconds */
  readonly createdMs: number;
  readonly isBeingDeleted: boolean;
  /** the API server keeps a record of its writers, and we are the only one */
  readonly isOnlyOurs?: true;
  readonly labels: Labels;
  readonly annotations: Labels;
  /** as it stands in the object; empty where there is none */
  readonly status: Readonly<Record<string, unknown>>;
  /** those of `status` that can be read */
  readonly conditions: readonly Condition[];
}

export function cachedDocument<T>(
  object: KubeObject,
  made: Converted<T> & { readonly core?: ClaimCore },
): CachedDocument<T> {
  const meta = documentMeta(object);
  if (made.ok) return { ok: true, meta, object: made.object };
  const where = made.path.join('.');
  const sentence = where === '' ? made.sentence : `${where}: ${made.sentence}`;
  return { ok: false, meta, sentence, ...optional('core', made.core) };
}

/** What is known of a claim, whether all of it can be read or not. */
export function knownOf(document: CachedDocument<IpClaim> | undefined): ClaimCore | undefined {
  return document?.ok === true ? document.object : document?.core;
}

function documentMeta(object: KubeObject): DocumentMeta {
  const { metadata } = object;
  const status = part(object, 'status');
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    ...(isRecordOfOurs(metadata) && { isOnlyOurs: true }),
    labels: labels(metadata, 'labels'),
    annotations: labels(metadata, 'annotations'),
    status,
    conditions: convertConditions(status),
  };
}
