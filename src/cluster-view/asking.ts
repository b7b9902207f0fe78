/**
 * Asks the API for people: what cannot be had becomes a sentence that says what to do. Without our own kinds there is nothing to tell, so
 * that is thrown as CannotLook; what others own (Nodes, Services, Leases) may be forbidden to a viewer, and then a note takes its place.
 */

import {
  ApiError,
  ApiUnreachable,
  isNotFound,
  type KubeApi,
  type KubeObject,
  type Resource,
} from '../sources/kube/api.ts';

/** There is no answer, and why. */
export class CannotLook extends Error {
  readonly code = 'CANNOT_LOOK';

  constructor(sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? {} : { cause });
    this.name = 'CannotLook';
  }
}

/** Something that may be had or not; `note` is for people. */
export type Perhaps<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly note: string };

/** whatever the watch cache has: a look need not cost etcd anything */
const FROM_CACHE = { resourceVersion: '0' } as const;

/** All of one of our own kinds. */
export async function listOwn(api: KubeApi, resource: Resource): Promise<readonly KubeObject[]> {
  try {
    return (await api.list(resource, FROM_CACHE)).items;
  } catch (error) {
    throw new CannotLook(whyNot(error, `list ${nameOf(resource)}`, resource), error);
  }
}

/** One of our own; undefined where there is none. */
export async function getOwn(
  api: KubeApi,
  resource: Resource,
  name: string,
): Promise<KubeObject | undefined> {
  try {
    return await api.get(resource, name);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw new CannotLook(whyNot(error, `read ${nameOf(resource)} ${name}`, resource), error);
  }
}

/** What belongs to others. */
export async function listOther(
  api: KubeApi,
  resource: Resource,
): Promise<Perhaps<readonly KubeObject[]>> {
  try {
    return { ok: true, value: (await api.list(resource, FROM_CACHE)).items };
  } catch (error) {
    return refusedOrThrow(error, `list ${nameOf(resource)}`, resource);
  }
}

export async function getOther(
  api: KubeApi,
  resource: Resource,
  name: string,
): Promise<Perhaps<KubeObject | undefined>> {
  try {
    return { ok: true, value: await api.get(resource, name) };
  } catch (error) {
    if (isNotFound(error)) return { ok: true, value: undefined };
    return refusedOrThrow(error, `read ${nameOf(resource)} ${name}`, resource);
  }
}

function refusedOrThrow(error: unknown, what: string, resource: Resource): Perhaps<never> {
  if (error instanceof ApiError && error.status === 403) {
    return { ok: false, note: `you may not ${what} (Forbidden)` };
  }
  throw new CannotLook(whyNot(error, what, resource), error);
}

function whyNot(error: unknown, what: string, { group }: Resource): string {
  if (error instanceof ApiUnreachable) return `the API server does not answer: ${error.message}`;
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401) {
    return `the API server does not know you: ${error.message}; see the user of your kubeconfig`;
  }
  if (error.status === 403) {
    const who = "bind the ClusterRole herald-view to you, or Kubernetes' own view";
    return `you may not ${what} (Forbidden): ${who}, by a ClusterRoleBinding`;
  }
  if (error.status === 404) {
    const install = 'kubectl apply -k deploy/base installs it';
    return `this cluster does not know the kinds of ${group}: Herald is not installed there; ${install}`;
  }
  return `the API server would not ${what}: ${error.message} (${error.status} ${error.reason})`;
}

function nameOf({ group, plural, namespace }: Resource): string {
  const full = group === '' ? plural : `${plural}.${group}`;
  return namespace === undefined ? full : `${full} in namespace ${namespace}`;
}
