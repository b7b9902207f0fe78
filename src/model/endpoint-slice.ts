/** What Herald reads of a discovery.k8s.io/v1 EndpointSlice: whether a Service has anybody behind it, and where. */

import type { Family } from 'bgp-ts';

export interface EndpointSlice {
  readonly namespace: string;
  readonly name: string;
  /** of label kubernetes.io/service-name */
  readonly service?: string;
  /** of its addressType; absent: it says another, or none */
  readonly family?: Family;
  /** endpoints that are ready, or that still serve while they terminate */
  readonly usable: number;
  /** where those run, by nodeKey, each node once and in order; absent: none of them says */
  readonly nodes?: ArrayLike<number>;
}
