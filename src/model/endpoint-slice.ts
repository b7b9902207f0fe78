/** What Herald reads of a discovery.k8s.io/v1 EndpointSlice: whether a Service has anybody behind it. */

export interface EndpointSlice {
  readonly namespace: string;
  readonly name: string;
  /** of label kubernetes.io/service-name */
  readonly service?: string;
  /** endpoints that are ready, or that still serve while they terminate */
  readonly usable: number;
}
