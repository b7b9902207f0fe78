/**
 * What kube-proxy's /metrics tell of its work on the rules: when it last heard of a change, when it last finished writing, and how long all
 * its writings took together. The last writing began that much before its end by which the sum has grown. Pure.
 */

import type { Family } from 'bgp-ts';

export interface SyncCounts {
  /** when a change was last heard of, wall clock */
  readonly queuedMs: number;
  /** when rules were last written */
  readonly syncedMs: number;
  /** how often they were, and how long that took in all */
  readonly syncs: number;
  readonly busyMs: number;
}

/** undefined: these are not the metrics of a kube-proxy that has written rules */
export type ProxyMetrics = Readonly<Partial<Record<Family, SyncCounts>>>;

type Field = keyof SyncCounts;

const FIELDS: ReadonlyMap<string, Field> = new Map([
  ['last_queued_timestamp_seconds', 'queuedMs'],
  ['last_timestamp_seconds', 'syncedMs'],
  ['duration_seconds_count', 'syncs'],
  ['duration_seconds_sum', 'busyMs'],
]);

/** since Kubernetes 1.34 with a family each; before that both families share the numbers */
const LINE = /^kubeproxy_sync_proxy_rules_([a-z_]+)(?:\{([^}]*)\})? ([0-9.eE+-]+)$/gm;

export function parseProxyMetrics(text: string): ProxyMetrics | undefined {
  const found: Record<Family, Partial<Record<Field, number>>> = { ipv4: {}, ipv6: {} };
  for (const [, name = '', labels = '', number = ''] of text.matchAll(LINE)) {
    const field = FIELDS.get(name);
    const value = Number(number);
    if (field === undefined || !Number.isFinite(value)) continue;
    for (const family of familiesOf(labels)) {
      found[family][field] = field === 'syncs' ? value : value * 1000;
    }
  }
  const ipv4 = complete(found.ipv4);
  const ipv6 = complete(found.ipv6);
  if (ipv4 === undefined && ipv6 === undefined) return undefined;
  return { ...(ipv4 && { ipv4 }), ...(ipv6 && { ipv6 }) };
}

function familiesOf(labels: string): readonly Family[] {
  const [, told] = /\bip_family="(IPv[46])"/.exec(labels) ?? [];
  if (told === undefined) return ['ipv4', 'ipv6'];
  return told === 'IPv4' ? ['ipv4'] : ['ipv6'];
}

function complete(found: Partial<Record<Field, number>>): SyncCounts | undefined {
  const { queuedMs, syncedMs, syncs, busyMs } = found;
  if (queuedMs === undefined || syncedMs === undefined) return undefined;
  if (syncs === undefined || busyMs === undefined || syncs === 0) return undefined;
  return { queuedMs, syncedMs, syncs, busyMs };
}
