/**
 * A pool, claim or peer as the controller's caches hold it: what the converter made of it, or why it refused it, and beside it
 * what a guarded write needs. Pure. One bad object is one entry that says so; it never hides another.
 */

import type { Labels } from '../model/labels.ts';
import type { Converted } from '../model/refusal.ts';
import type { Condition } from '../model/service.ts';
import type { KubeObject } from '../sources/kube/api.ts';

export type CachedDocument<T> =
  | { readonly ok: true; readonly meta: DocumentMeta; readonly object: T }
  /** `sentence` says what is wrong and what to do */
  | { readonly ok: false; readonly meta: DocumentMeta; readonly sentence: string };

export interface DocumentMeta {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** wall-clock milliseconds */
  readonly createdMs: number;
  readonly isBeingDeleted: boolean;
  readonly labels: Labels;
  readonly annotations: Labels;
  /** as it stands in the object; empty where there is none */
  readonly status: Readonly<Record<string, unknown>>;
  /** those of `status` that can be read */
  readonly conditions: readonly Condition[];
}

export function cachedDocument<T>(object: KubeObject, made: Converted<T>): CachedDocument<T> {
  const meta = documentMeta(object);
  if (made.ok) return { ok: true, meta, object: made.object };
  const where = made.path.join('.');
  return { ok: false, meta, sentence: where === '' ? made.sentence : `${where}: ${made.sentence}` };
}

function documentMeta({ metadata, ...object }: KubeObject): DocumentMeta {
  const { status } = object;
  const known = isRecord(status) ? status : NOTHING;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    labels: metadata.labels ?? NO_LABELS,
    annotations: metadata.annotations ?? NO_LABELS,
    status: known,
    conditions: readConditions(known['conditions']),
  };
}

/** Those that have the shape of one; what another writer has put there in another shape is not ours to judge. */
export function readConditions(value: unknown): readonly Condition[] {
  if (!Array.isArray(value)) return NO_CONDITIONS;
  return value.flatMap((item: unknown) => {
    if (!isRecord(item)) return [];
    const { type, status, reason, message, lastTransitionTime, observedGeneration } = item;
    const known = STATUSES.find((one) => one === status);
    if (typeof type !== 'string' || known === undefined) return [];
    return [
      {
        type,
        status: known,
        reason: typeof reason === 'string' ? reason : '',
        message: typeof message === 'string' ? message : '',
        ...(typeof lastTransitionTime === 'string' && { lastTransitionTime }),
        ...(typeof observedGeneration === 'number' && { observedGeneration }),
      },
    ];
  });
}

const STATUSES = ['True', 'False', 'Unknown'] as const;
const NOTHING: Readonly<Record<string, unknown>> = {};
const NO_LABELS: Labels = {};
const NO_CONDITIONS: readonly Condition[] = [];

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
