/** A coordination.k8s.io/v1 Lease as the API gives it. Its times are of the writer's clock: compare them for difference only. */

import { RESTARTING_ANNOTATION } from '../../model/names.ts';
import { optional } from '../../model/optional.ts';
import type { KubeObject } from './api.ts';
import { filledText, part, wholeNumber } from './loose-fields.ts';

export interface Lease {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** absent: nobody holds it */
  readonly holder?: string;
  /** as it was written */
  readonly renewTime?: string;
  readonly acquireTime?: string;
  readonly durationSeconds?: number;
  readonly transitions: number;
  /** its holder restarts as planned, and routers keep its routes for so long from this write on */
  readonly restartingSeconds?: number;
}

function restartingSeconds(object: KubeObject): number | undefined {
  const text = filledText(part(object.metadata, 'annotations'), RESTARTING_ANNOTATION) ?? '';
  return /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}

export function convertLease(object: KubeObject): Lease | undefined {
  const { name, uid, resourceVersion } = object.metadata;
  if (typeof name !== 'string') return undefined;
  const spec = part(object, 'spec');
  return {
    name,
    uid,
    resourceVersion,
    ...optional('holder', filledText(spec, 'holderIdentity')),
    ...optional('renewTime', filledText(spec, 'renewTime')),
    ...optional('acquireTime', filledText(spec, 'acquireTime')),
    ...optional('durationSeconds', wholeNumber(spec, 'leaseDurationSeconds')),
    transitions: wholeNumber(spec, 'leaseTransitions') ?? 0,
    ...optional('restartingSeconds', restartingSeconds(object)),
  };
}
