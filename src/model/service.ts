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
  /** the first LONGEST_LABELS characters of them */
  readonly labels: Labels;
  /** those that have to do with Herald; a value that is longer than LONGEST_ANNOTATION is cut off one character behind it */
  readonly annotations: Labels;
  readonly isBeingDeleted: boolean;
  readonly isLoadBalancer: boolean;
  readonly loadBalancerClass?: string;
  /** spec.loadBalancerIP as it was written, cut off like an annotation */
  readonly loadBalancerIp?: string;
  /** spec.externalIPs as they were written, the first MOST_EXTERNAL_IPS of them */
  readonly externalIps: readonly string[];
  /** how many more there are, which are not looked at */
  readonly moreExternalIps?: number;
  /** spec.ipFamilies in order; never empty for what the API server has defaulted */
  readonly families: readonly Family[];
  readonly familyPolicy: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
  readonly isLocal: boolean;
  /** of externalTrafficPolicy Local */
  readonly healthCheckNodePort?: number;
  readonly ports: readonly ServicePort[];
  /** of one that is longer than LONGEST_LABELS a hash under an empty name */
  readonly selector: Labels;
  /** status.loadBalancer.ingress, addresses only */
  readonly ingress: readonly Address[];
  /** there is an ingress that is no address (a host name), or one that cannot be read */
  readonly hasForeignIngress: boolean;
  readonly conditions: readonly Condition[];
}

/**
 * What a Service can carry is bounded: whoever may edit one in a namespace of its own must not be able to make work, or take memory, for
 * everybody else (docs/decisions/0033).
 */
export const MOST_EXTERNAL_IPS = 64;
/** addresses in a status: more of them is nothing that Herald wrote */
export const MOST_INGRESS = 64;
export const LONGEST_ANNOTATION = 2048;
/** names and values together */
export const LONGEST_LABELS = 8192;

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
