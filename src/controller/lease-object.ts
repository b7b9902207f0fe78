/** The coordination.k8s.io/v1 Lease of the election, read and written. Pure. What others have put on it (labels, owners) stays. */

import { CONTROLLER_LEASE, NAMESPACE } from '../model/names.ts';
import type { KubeObject } from '../sources/kube/api.ts';
import type { ElectionTimes, LeaseRecord } from './election-rules.ts';

export function leaseRecord({ spec }: KubeObject): LeaseRecord {
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
  };
}

export interface LeaseWords {
  /** empty: it is given back */
  readonly identity: string;
  readonly times: ElectionTimes;
  readonly wallMs: number;
  readonly before: KubeObject | undefined;
  readonly record: LeaseRecord | undefined;
}

export function leaseBody({ identity, times, wallMs, before, record }: LeaseWords): object {
  const isNew = record?.holder !== identity;
  const time = new Date(wallMs).toISOString().replace('Z', '000Z');
  const acquired = isNew ? time : acquireTime(before);
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: before?.metadata ?? { name: CONTROLLER_LEASE, namespace: NAMESPACE },
    spec: {
      holderIdentity: identity,
      // whole seconds are what the field holds, and none is not allowed
      leaseDurationSeconds: identity === '' ? 1 : Math.max(1, Math.ceil(times.leaseMs / 1000)),
      acquireTime: acquired ?? time,
      renewTime: time,
      leaseTransitions: transitions(identity, record),
    },
  };
}

/** counts who came to lead, not who left */
function transitions(identity: string, record: LeaseRecord | undefined): number {
  if (record === undefined) return 0;
  const isTaken = identity !== '' && record.holder !== identity;
  return record.transitions + (isTaken ? 1 : 0);
}

function acquireTime(before: KubeObject | undefined): string | undefined {
  const spec = before?.['spec'];
  const time = typeof spec === 'object' && spec !== null && Reflect.get(spec, 'acquireTime');
  return typeof time === 'string' ? time : undefined;
}
