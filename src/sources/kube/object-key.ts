/** Names and versions of objects as keys of caches. */

import type { KubeObject } from './api.ts';

/** `namespace/name`, or `name` of what has no namespace */
export function objectKey({ metadata }: KubeObject): string {
  const { namespace, name } = metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function splitKey(key: string): { readonly namespace?: string; readonly name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/**
 * Versions of one kind of object are numbers that grow (what etcd counts), whatever server says them. What is no number is older than
 * everything.
 */
export function versionNumber(resourceVersion: string): bigint {
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n;
}

/** of two versions of one object */
export function isNewer(
  a: { readonly resourceVersion: string },
  b: { readonly resourceVersion: string },
): boolean {
  return versionNumber(a.resourceVersion) > versionNumber(b.resourceVersion);
}
