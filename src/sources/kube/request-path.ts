/** Where in the API an object, a list or a watch stands. Pure. */

import type {
  DeleteOptions,
  ListOptions,
  PatchKind,
  Resource,
  Selection,
  WatchOptions,
  WriteOptions,
} from './api.ts';

export const PATCH_TYPES: Readonly<Record<PatchKind, string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  // JSON is YAML
  apply: 'application/apply-patch+yaml',
};

export function resourcePath({ group, version, plural, namespace }: Resource): string {
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === undefined
    ? `${base}/${plural}`
    : `${base}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

export function objectPath(resource: Resource, name: string): string {
  return `${resourcePath(resource)}/${encodeURIComponent(name)}`;
}

export function writePath(resource: Resource, name: string, options: WriteOptions): string {
  const { subresource, fieldManager, force } = options;
  const path = objectPath(resource, name) + (subresource === undefined ? '' : `/${subresource}`);
  return path + query({ fieldManager, force: force === true ? 'true' : undefined });
}

export function listPath(resource: Resource, options: ListOptions): string {
  const { resourceVersion, limit, continueToken } = options;
  return (
    resourcePath(resource) +
    query({
      ...selection(options),
      resourceVersion,
      limit: limit?.toString(),
      continue: continueToken,
    })
  );
}

export function watchPath(resource: Resource, options: WatchOptions): string {
  return (
    resourcePath(resource) +
    query({
      watch: 'true',
      allowWatchBookmarks: 'true',
      ...selection(options),
      resourceVersion: options.resourceVersion,
      timeoutSeconds: String(options.timeoutSeconds),
    })
  );
}

/** undefined: nothing to say besides the path */
export function deleteBody({ uid, resourceVersion }: DeleteOptions): object | undefined {
  if (uid === undefined && resourceVersion === undefined) return undefined;
  const preconditions = {
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
  return { kind: 'DeleteOptions', apiVersion: 'v1', preconditions };
}

type Query = Readonly<Record<string, string | undefined>>;

function selection({ labelSelector, fieldSelector }: Selection): Query {
  return { labelSelector, fieldSelector };
}

function query(fields: Query): string {
  let text = '';
  for (const name in fields) {
    const value = fields[name];
    if (value !== undefined)
      text += `${text === '' ? '?' : '&'}${name}=${encodeURIComponent(value)}`;
  }
  return text;
}
