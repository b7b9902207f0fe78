/** Which pools a Service may have addresses from, and in which order they are tried. Pure. */

import type { IpPool } from '../model/ip-pool.ts';
import { type Labels, selects } from '../model/labels.ts';
import type { Service } from '../model/service.ts';

/** The pools that addresses come from, as one value: it is replaced whenever a pool changes. */
export interface PoolChoice {
  /** in the order in which they are tried: the highest priority first, then by name */
  readonly inOrder: readonly IpPool[];
  readonly byName: ReadonlyMap<string, IpPool>;
  /** pools that cannot be used, and why */
  readonly refused: ReadonlyMap<string, string>;
}

export function poolChoice(
  accepted: readonly IpPool[],
  refused: ReadonlyMap<string, string> = new Map(),
): PoolChoice {
  const inOrder = accepted.toSorted(
    (a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1),
  );
  return { inOrder, byName: new Map(inOrder.map((pool) => [pool.name, pool])), refused };
}

/**
 * Why a Service may not use a pool; undefined: it may. `called`: what a pool is called that is closed to its namespace. Names of pools are often those of
 * the tenants they are for, so only a Service that names the pool by itself reads its name.
 */
export function notForService(
  pool: IpPool,
  service: Service,
  namespaceLabels: Labels | undefined,
  called = `pool ${pool.name}`,
): string | undefined {
  if (!takesNamespace(pool, service.namespace, namespaceLabels)) {
    return `${called} is not for namespace ${service.namespace}`;
  }
  if (!selects(pool.serviceSelector, service.labels)) {
    return `the serviceSelector of pool ${pool.name} does not select this Service`;
  }
  return undefined;
}

export function takesNamespace(
  pool: IpPool,
  namespace: string,
  labels: Labels | undefined,
): boolean {
  const { namespaces } = pool;
  if (namespaces === undefined) return true;
  const { names, selector, maxAddresses } = namespaces;
  // a limit alone is one for all namespaces
  if (names.length === 0 && selector === undefined && maxAddresses !== undefined) return true;
  if (names.includes(namespace)) return true;
  // a choice by names alone selects nothing by labels
  if (selector === undefined) return false;
  return labels !== undefined && selects(selector, labels);
}
