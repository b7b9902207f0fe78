/**
 * What kube-proxy's /healthz tells. Pure. It answers 200 before its first sync, and `lastUpdated` of a healthy one is the time of the
 * answer in releases of today: when rules were really written stands per family in `status`, since Kubernetes 1.34. Without that there is
 * only time to go by.
 */

import type { Family } from 'bgp-ts';

export interface ProxyHealth {
  readonly isHealthy: boolean;
  /** when rules were written last, wall clock; of a family that is missing, never */
  readonly syncedMs?: Readonly<Partial<Record<Family, number>>>;
}

/** undefined: no answer that means anything */
export function parseProxyHealth(status: number, body: string): ProxyHealth | undefined {
  if (status !== 200 && status !== 503) return undefined;
  const isHealthy = status === 200;
  const families = familiesOf(body);
  if (families === undefined) return { isHealthy };
  const syncedMs: Partial<Record<Family, number>> = {};
  for (const [name, told] of Object.entries(families)) {
    const family = name === 'IPv4' ? 'ipv4' : name === 'IPv6' ? 'ipv6' : undefined;
    const atMs = Date.parse(String(field(told, 'lastUpdated') ?? ''));
    if (family !== undefined && !Number.isNaN(atMs)) syncedMs[family] = atMs;
  }
  return { isHealthy, syncedMs };
}

/** Of a 503 of a health-check port (since 1.28): there are endpoints, and it is kube-proxy itself that is unwell. Whoever else answers so means what it says. */
export function isOnlyUnwell(body: string): boolean {
  const value = parsed(body);
  return (
    Number(field(value, 'localEndpoints')) > 0 && field(value, 'serviceProxyHealthy') === false
  );
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function familiesOf(body: string): object | undefined {
  const status = field(parsed(body), 'status');
  return typeof status === 'object' && status !== null ? status : undefined;
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}
