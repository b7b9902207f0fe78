/** The resources that Herald reads and writes. */

import { GROUP, NAMESPACE, VERSION } from '../../model/names.ts';
import type { Resource } from './api.ts';

const own = (plural: string): Resource => ({ group: GROUP, version: VERSION, plural });
const core = (plural: string): Resource => ({ group: '', version: 'v1', plural });

export const BGP_PEERS = own('bgppeers');
export const IP_POOLS = own('ippools');
export const IP_CLAIMS = own('ipclaims');
export const IP_NODES = own('ipnodes');
export const SERVICES = core('services');
export const NODES = core('nodes');
export const NAMESPACES = core('namespaces');
export const ENDPOINT_SLICES: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
};
export const LEASES: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  namespace: NAMESPACE,
};
export const SECRETS: Resource = { ...core('secrets'), namespace: NAMESPACE };
export const EVENTS: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events' };
export const DAEMON_SETS: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'daemonsets',
  namespace: NAMESPACE,
};
export const DEPLOYMENTS: Resource = { ...DAEMON_SETS, plural: 'deployments' };
export const REPLICA_SETS: Resource = { ...DAEMON_SETS, plural: 'replicasets' };
export const PODS: Resource = { ...core('pods'), namespace: NAMESPACE };

export function inNamespace(resource: Resource, namespace: string): Resource {
  return { ...resource, namespace };
}
