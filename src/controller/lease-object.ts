/** The coordination.k8s.io/v1 Lease of the election, read and written. Pure. What others have put on it (labels, owners) stays. */

import { CONTROLLER_LEASE, LEAVING_ANNOTATION, NAMESPACE } from '../model/names.ts';
import type { KubeObject } from '../sources/kube/api.ts';
import type { ElectionTimes, LeaseRecord } from './election-rules.ts';

export function leaseRecord({ metadata, spec }: KubeObject): LeaseRecord {
  const of = (key: string): unknown =>
    typeof spec === 'object' && spec !== null ? Reflect.get(spec, key) : undefined;
  const holder = of('holderIdentity');
  const renewTime = of('renewTime');
  const seconds = of('leaseDurationSeconds');
  const transitions = of('leaseTransitions');
  return {
    holder: typeof holder === 'string' ? holder : '',
    renewTime: typeof renewTime === 'string' ? renewTime : '',
    transitions: typeof transitions === 'number' ? transitions : 0,
    ...(typeof seconds === 'number' && { leaseMs: seconds * 1000 }),
    ...(LEAVING_ANNOTATION in (metadata.annotations ?? {}) && { isLeaving: true as const }),
  };
}

export interface LeaseWords {
  /** empty: it is given back */
  readonly identity: string;
  readonly times: ElectionTimes;
  readonly wallMs: number;
  readonly before: KubeObject | undefined;
  readonly record: LeaseRecord | undefined;
  /** of the last record that was seen: one that somebody deleted is made anew with a higher count */
  readonly transitions?: number;
  /** the holder is going away, or restarts as planned */
  readonly isLeaving?: boolean;
}

export function leaseBody(words: LeaseWords): object {
  const { identity, times, wallMs, before, record } = words;
  const isNew = record?.holder !== identity;
  const time = new Date(wallMs).toISOString().replace('Z', '000Z');
  const acquired = isNew ? time : acquireTime(before);
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: metadataOf(words),
    spec: {
      holderIdentity: identity,
      // whole seconds are what the field holds, and none is not allowed
      leaseDurationSeconds: identity === '' ? 1 : Math.max(1, Math.ceil(times.leaseMs / 1000)),
      acquireTime: acquired ?? time,
      renewTime: time,
      leaseTransitions: transitions(words),
    },
  };
}

function metadataOf({ before, isLeaving = false }: LeaseWords): object {
  const metadata = before?.metadata ?? { name: CONTROLLER_LEASE, namespace: NAMESPACE };
  const { [LEAVING_ANNOTATION]: was, ...others } = before?.metadata.annotations ?? {};
  if (!isLeaving && was === undefined) return metadata;
  const annotations = isLeaving ? { ...others, [LEAVING_ANNOTATION]: 'true' } : others;
  return { ...metadata, annotations };
}

/** counts who came to lead, not who left */
function transitions({ identity, record, transitions: before = -1 }: LeaseWords): number {
  if (record === undefined) return before + 1;
  const isTaken = identity !== '' && record.holder !== identity;
  return record.transitions + (isTaken ? 1 : 0);
}

function acquireTime(before: KubeObject | undefined): string | undefined {
  const spec = before?.['spec'];
  const time = typeof spec === 'object' && spec !== null && Reflect.get(spec, 'acquireTime');
  return typeof time === 'string' ? time : undefined;
}
