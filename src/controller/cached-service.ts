/**
 * A Service as the controller's cache keeps it. Pure. Most Services of a cluster have nothing to do with Herald: no LoadBalancer, no external IP, no
 * annotation or condition or status of ours. Of these only that they are there is kept; a hundred thousand of them are no memory then.
 */

import type { Labels } from '../model/labels.ts';
import type { Service } from '../model/service.ts';
import type { KubeObject } from '../sources/kube/api.ts';
import { convertService } from '../sources/kube/convert-service.ts';

const NO_LABELS: Labels = {};
const NONE: readonly never[] = [];
const IPV4 = ['ipv4'] as const;

export function convertCachedService(object: KubeObject): Service | undefined {
  const service = convertService(object);
  return service === undefined || mayBeOurs(service) ? service : bare(service);
}

/** it is ours, was, or may be looked at for what it says: its addresses, its annotations, its conditions */
function mayBeOurs(service: Service): boolean {
  const { isLoadBalancer, externalIps, annotations, conditions, ingress } = service;
  return (
    isLoadBalancer ||
    service.isLocal ||
    service.hasForeignIngress ||
    service.loadBalancerIp !== undefined ||
    externalIps.length + conditions.length + ingress.length > 0 ||
    Object.keys(annotations).length > 0
  );
}

function bare({
  namespace,
  name,
  uid,
  resourceVersion,
  createdMs,
  isBeingDeleted,
}: Service): Service {
  return {
    ...{ namespace, name, uid, resourceVersion, createdMs, isBeingDeleted },
    labels: NO_LABELS,
    annotations: NO_LABELS,
    isLoadBalancer: false,
    externalIps: NONE,
    families: IPV4,
    familyPolicy: 'SingleStack',
    isLocal: false,
    ports: NONE,
    selector: NO_LABELS,
    ingress: NONE,
    hasForeignIngress: false,
    conditions: NONE,
  };
}
