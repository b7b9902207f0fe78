/** What Herald reads of a core/v1 Service. Made by sources/kube/convert-service.ts; frozen, never changed in place. */

import type { Address, Family } from 'bgp-ts';
import type { Labels } from './labels.ts';

export interface Service {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** wall-clock milliseconds; who waits longest is served first */
  readonly createdMs: number;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly isBeingDeleted: boolean;
  readonly isLoadBalancer: boolean;
  readonly loadBalancerClass?: string;
  /** spec.loadBalancerIP as it was written */
  readonly loadBalancerIp?: string;
  readonly externalIps: readonly string[];
  /** spec.ipFamilies in order; never empty for what the API server has defaulted */
  readonly families: readonly Family[];
  readonly familyPolicy: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
  readonly isLocal: boolean;
  /** of externalTrafficPolicy Local */
  readonly healthCheckNodePort?: number;
  readonly ports: readonly ServicePort[];
  readonly selector: Labels;
  /** status.loadBalancer.ingress, addresses only */
  readonly ingress: readonly Address[];
  /** there is an ingress that is no address (a host name), or one that cannot be read */
  readonly hasForeignIngress: boolean;
  readonly conditions: readonly Condition[];
}

export interface ServicePort {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly port: number;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

/** `namespace/name` */
export function serviceKey({ namespace, name }: Pick<Service, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}
