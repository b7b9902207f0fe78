/** The objects that kubelets and controllers would write in a whole cluster: Nodes, Services, EndpointSlices. Pure: bodies for the API. */

import { LOAD_BALANCER_CLASS } from '../../../src/model/names.ts';

export interface NodeOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** default true */
  readonly ready?: boolean;
  /** `addNode` gives this machine's own: an agent trusts a Node that is of its boot */
  readonly bootID?: string;
  /** InternalIP; default one of 10.0.0.0/16 by the name */
  readonly addresses?: readonly string[];
  readonly unschedulable?: boolean;
  readonly taints?: readonly { readonly key: string; readonly effect: string }[];
}

export function nodeBody(name: string, options: NodeOptions): object {
  const { labels = {}, annotations = {}, unschedulable = false } = options;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, annotations, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec: { ...(unschedulable ? { unschedulable } : {}) },
    status: nodeStatus(name, options),
  };
}

function nodeStatus(name: string, options: NodeOptions): object {
  const { bootID = `boot-${name}`, addresses = [defaultAddress(name)], ready = true } = options;
  return {
    addresses: [
      ...addresses.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: name },
    ],
    conditions: [readyCondition(ready)],
    nodeInfo: {
      bootID,
      machineID: `machine-${name}`,
      systemUUID: `system-${name}`,
      kernelVersion: '6.1.0',
      osImage: 'Debian',
      containerRuntimeVersion: 'none://0',
      kubeletVersion: 'v1.34.4',
      kubeProxyVersion: 'v1.34.4',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
  };
}

export function readyCondition(ready: boolean): object {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    type: 'Ready',
    status: ready ? 'True' : 'False',
    reason: ready ? 'KubeletReady' : 'KubeletNotReady',
    message: 'as the test says',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
}

function defaultAddress(name: string): string {
  let hash = 0;
  for (const letter of name) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 65_000;
  return `10.0.${Math.floor(hash / 250)}.${(hash % 250) + 1}`;
}

export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
}

export interface ServiceOptions extends ServiceRef {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** default one: 80 TCP */
  readonly ports?: readonly {
    readonly port: number;
    readonly name?: string;
    readonly protocol?: string;
  }[];
  /** over the defaults: type LoadBalancer of our class; `undefined` takes a field away */
  readonly spec?: Readonly<Record<string, unknown>>;
}

export function serviceBody(options: ServiceOptions): object {
  const { namespace, name, labels = {}, annotations = {}, ports = [{ port: 80 }] } = options;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name, labels, annotations },
    spec: {
      type: 'LoadBalancer',
      loadBalancerClass: LOAD_BALANCER_CLASS,
      selector: { app: name },
      ports,
      ...options.spec,
    },
  };
}

export interface EndpointOptions {
  readonly node?: string;
  readonly address?: string;
  /** default true */
  readonly ready?: boolean;
  /** default as ready */
  readonly serving?: boolean;
  readonly terminating?: boolean;
}

export function sliceName(service: string, family: 'IPv4' | 'IPv6'): string {
  return family === 'IPv4' ? `${service}-test` : `${service}-test6`;
}

export function sliceBody(
  { namespace, name }: ServiceRef,
  endpoints: readonly EndpointOptions[],
  family: 'IPv4' | 'IPv6' = 'IPv4',
): object {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace,
      name: sliceName(name, family),
      labels: { 'kubernetes.io/service-name': name },
    },
    addressType: family,
    endpoints: endpoints.map((endpoint, index) => endpointBody(endpoint, index, family)),
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  };
}

function endpointBody(endpoint: EndpointOptions, index: number, family: string): object {
  const { node, ready = true, serving = ready, terminating = false } = endpoint;
  const own =
    family === 'IPv4'
      ? `10.244.${Math.floor(index / 250)}.${(index % 250) + 1}`
      : `fd00:244::${(index + 1).toString(16)}`;
  return {
    addresses: [endpoint.address ?? own],
    conditions: { ready, serving, terminating },
    ...(node === undefined ? {} : { nodeName: node }),
  };
}
