/** The Lease of a node as it is written, and who may hold it. Pure. The times in it are for people: nobody compares them with a clock. */

import { leaseSeconds } from '../../model/lease-times.ts';
import { NAMESPACE, nodeLease, RESTARTING_ANNOTATION } from '../../model/names.ts';
import type { Lease } from '../../sources/kube/convert-lease.ts';
import { NO_RECORD } from '../../sources/kube/written-fields.ts';

/** Two machines may go by one node name, never by one identity. */
export function holderIdentity(node: string, instance: string): string {
  return `${node}/${instance}`;
}

export interface LeaseWish {
  readonly node: string;
  /** of the Node, with which the Lease goes; undefined: none is known */
  readonly nodeUid: string | undefined;
  /** empty: it is given back */
  readonly holder: string;
  readonly wallMs: number;
  /** how long it lasts */
  readonly seconds: number;
  /** a planned restart: routers keep the routes for so long from now */
  readonly restartingSeconds?: number;
}

export function leaseBody(
  { node, nodeUid, holder, wallMs, seconds, restartingSeconds }: LeaseWish,
  before: Lease | undefined,
): object {
  const time = new Date(wallMs).toISOString().replace('Z', '000Z');
  const isTaken = holder !== '' && before?.holder !== holder;
  const owner = { apiVersion: 'v1', kind: 'Node', name: node, uid: nodeUid };
  const since = isTaken ? time : before?.acquireTime;
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: nodeLease(node),
      namespace: NAMESPACE,
      ...(restartingSeconds === undefined
        ? {}
        : { annotations: { [RESTARTING_ANNOTATION]: String(restartingSeconds) } }),
      ...(nodeUid === undefined ? {} : { ownerReferences: [owner] }),
      ...(before === undefined
        ? {}
        : { resourceVersion: before.resourceVersion, managedFields: NO_RECORD }),
    },
    spec: {
      holderIdentity: holder,
      // the field takes no zero
      leaseDurationSeconds: holder === '' ? 1 : seconds,
      ...(since === undefined ? {} : { acquireTime: since }),
      renewTime: time,
      leaseTransitions: (before?.transitions ?? 0) + (before !== undefined && isTaken ? 1 : 0),
    },
  };
}

/** What was seen of another holder, and since when it has not moved. */
export interface Sighting {
  readonly key: string;
  readonly sinceMs: number;
}

export function sight(before: Sighting | undefined, lease: Lease, nowMs: number): Sighting {
  const key = `${lease.uid} ${lease.resourceVersion}`;
  return before?.key === key ? before : { key, sinceMs: nowMs };
}

/** nobody's, our own, or of one that has not moved for as long as it promised to at most */
export function mayTake(lease: Lease, identity: string, seen: Sighting, nowMs: number): boolean {
  if (lease.holder === undefined || lease.holder === identity) return true;
  return nowMs - seen.sinceMs >= leaseSeconds(lease.durationSeconds) * 1000;
}
