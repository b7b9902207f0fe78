/**
 * Takes away what a test made. No controller-manager runs, so nothing is collected and no namespace is ever finalised by itself: what stands
 * in a namespace is deleted here, and then the namespace's own finalizer is lifted as the namespace controller would do it.
 */

import { NAMESPACE } from '../../../src/model/names.ts';
import { isNotFound, type KubeObject, type Resource } from '../../../src/sources/kube/api.ts';
import {
  BGP_PEERS,
  ENDPOINT_SLICES,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  NAMESPACES,
  NODES,
  SERVICES,
} from '../../../src/sources/kube/resources.ts';
import { field, text } from '../../interop/routers/json.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { pathOf, type TestApi } from './test-api.ts';

const OWN = [IP_CLAIMS, IP_POOLS, BGP_PEERS, IP_NODES];
const core = (plural: string): Resource => ({ group: '', version: 'v1', plural });
const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
const EVENTS: Resource = { group: 'events.k8s.io', version: 'v1', plural: 'events' };
/** what tests write, in the namespaces that stay too */
const PASSING = [SERVICES, ENDPOINT_SLICES, core('pods'), core('secrets'), LEASES, EVENTS];
const APPS = ['daemonsets', 'deployments', 'replicasets'].map((plural) => ({
  group: 'apps',
  version: 'v1',
  plural,
}));
const RBAC = ['rolebindings', 'roles'].map((plural) => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
}));
const ALL = [...PASSING, ...APPS, ...RBAC, core('configmaps'), core('serviceaccounts')];
/** these stay; what deploy/ puts into our own namespace is set up once per file, not per test */
const KEPT = ['default', NAMESPACE];
const SYSTEM = /^kube-/;

export async function reset(api: TestApi): Promise<void> {
  const names = (await api.list(NAMESPACES)).items.map((each) => each.metadata.name);
  const touched = names.filter((name) => !SYSTEM.test(name));
  await Promise.all([
    ...[...OWN, NODES].map((resource) => empty(api, resource)),
    ...touched.map((name) => emptyNamespace(api, name)),
  ]);
  await Promise.all(
    touched.filter((name) => !KEPT.includes(name)).map((name) => removeNamespace(api, name)),
  );
}

async function emptyNamespace(api: TestApi, namespace: string): Promise<void> {
  const kinds = KEPT.includes(namespace) ? PASSING : ALL;
  await Promise.all(kinds.map((kind) => empty(api, inNamespace(kind, namespace))));
}

/** All objects of a kind, also those that a finalizer holds; a kind that is not installed has none. */
async function empty(api: TestApi, resource: Resource): Promise<void> {
  const list = async () => {
    try {
      return (await api.list(resource)).items.filter((each) => !isServersOwn(resource, each));
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  };
  if ((await list()).length === 0) return;
  // thousands at once; what a finalizer holds is left for below
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 };
  if (!isServersPlace(resource)) await api.call({ method: 'DELETE', path: pathOf(resource), body });
  await until(`no ${resource.plural} are left`, async () => {
    const left = await list();
    for (const object of left) await remove(api, resource, object);
    return left.length === 0 ? done(true) : notYet(left.map((each) => each.metadata.name));
  });
}

/** where the Service is that the API server writes for itself */
function isServersPlace({ namespace, plural }: Resource): boolean {
  return namespace === 'default' && (plural === 'services' || plural === 'endpointslices');
}

const isServersOwn = (resource: Resource, { metadata }: KubeObject): boolean =>
  isServersPlace(resource) && metadata.name === 'kubernetes';

async function remove(api: TestApi, resource: Resource, object: KubeObject): Promise<void> {
  const { name, finalizers } = object.metadata;
  const path = pathOf(resource, name);
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 };
  try {
    if (Array.isArray(finalizers) && finalizers.length > 0) {
      await api.patch(resource, name, { kind: 'merge', body: { metadata: { finalizers: null } } });
    }
    await api.call({ method: 'DELETE', path, body });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function removeNamespace(api: TestApi, name: string): Promise<void> {
  try {
    await api.delete(NAMESPACES, name);
    const left = await api.get(NAMESPACES, name);
    const body = { ...left, spec: { finalizers: [] } };
    await api.call({ method: 'PUT', path: pathOf(NAMESPACES, name, 'finalize'), body });
  } catch (error) {
    if (!isNotFound(error) && text(field(error, 'reason')) !== 'NotFound') throw error;
  }
}
