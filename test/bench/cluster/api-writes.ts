/** What the API server was asked to write, by its own counters: `create ipclaims` → how often. */

import type { Cluster } from '../../cluster/support/cluster.ts';
import { metricSamples } from './metric-samples.ts';

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  APPLY: 'apply',
  DELETE: 'delete',
};

export async function apiWrites({ api }: Cluster): Promise<ReadonlyMap<string, number>> {
  const text = String(await api.call({ method: 'GET', path: '/metrics' }));
  const writes = new Map<string, number>();
  for (const { label, value } of metricSamples(text, 'apiserver_request_total')) {
    const verb = VERBS[label('verb')];
    if (verb === undefined) continue;
    const part = label('subresource') === '' ? '' : `/${label('subresource')}`;
    const key = `${verb} ${label('resource')}${part}`;
    writes.set(key, (writes.get(key) ?? 0) + value);
  }
  return writes;
}

/** what came between two readings, most first */
export function between(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const grown = [...after].map(([key, now]) => [key, now - (before.get(key) ?? 0)] as const);
  return new Map(grown.filter(([, more]) => more > 0).toSorted((a, b) => b[1] - a[1]));
}
