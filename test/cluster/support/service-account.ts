/** Tokens of service accounts by TokenRequest: what a pod finds in its projected volume, bound to a pod and thereby to a node where asked. */

import { isAlreadyExists, type Resource } from '../../../src/sources/kube/api.ts';
import { NAMESPACES } from '../../../src/sources/kube/resources.ts';
import { field, text } from '../../interop/routers/json.ts';
import { pathOf, type TestApi } from './test-api.ts';

export interface TokenOptions {
  /**
   * The node of the Pod that the token is bound to: the server puts its name into the claim `authentication.kubernetes.io/node-name`, as for every pod.
   * The Pod is made (`NAME-NODE`) and must live as long as the token is to be good.
   */
  readonly boundToNode?: string;
  readonly expirationSeconds?: number;
}

const inside = (plural: string, namespace: string): Resource => ({
  group: '',
  version: 'v1',
  plural,
  namespace,
});

export async function serviceAccountToken(
  api: TestApi,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { boundToNode, expirationSeconds = 3_600 }: TokenOptions,
): Promise<string> {
  const accounts = inside('serviceaccounts', namespace);
  await ensure(api, NAMESPACES, { metadata: { name: namespace } });
  await ensure(api, accounts, { metadata: { name } });
  const spec = {
    expirationSeconds,
    ...(boundToNode === undefined
      ? {}
      : { boundObjectRef: await podOn(api, { namespace, name, node: boundToNode }) }),
  };
  const path = pathOf(accounts, name, 'token');
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  return text(field(await api.call({ method: 'POST', path, body }), 'status', 'token'));
}

interface PodPlace {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
}

async function podOn(api: TestApi, { namespace, name, node }: PodPlace): Promise<object> {
  const pods = inside('pods', namespace);
  const podName = `${name}-${node}`;
  await ensure(api, pods, {
    metadata: { name: podName },
    spec: {
      nodeName: node,
      serviceAccountName: name,
      containers: [{ name: 'none', image: 'none.invalid/none' }],
    },
  });
  const pod = await api.get(pods, podName);
  return { kind: 'Pod', apiVersion: 'v1', name: podName, uid: pod.metadata.uid };
}

/** Creates what is not there yet. */
export async function ensure(api: TestApi, resource: Resource, body: object): Promise<void> {
  try {
    await api.create(resource, body);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
