/** Pools and claims of tests with agents. Pure: bodies for the API, placed by hand as the controller would. */

import { ANYCAST_LABEL, API_VERSION, nodeLabel } from '../../../src/model/names.ts';

export function poolBody(name: string, addresses: readonly string[], spec: object = {}): object {
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name },
    spec: { addresses, drain: { on: ['stop'], waitSeconds: 0 }, ...spec },
  };
}

export const EXCLUSIVE_POOL = { placement: { mode: 'exclusive' } };

export function anycastClaim(name: string, spec: object = {}): object {
  const metadata = { name, labels: { [ANYCAST_LABEL]: '' } };
  return { apiVersion: API_VERSION, kind: 'IPClaim', metadata, spec };
}

/** levels by node; null takes a node out */
export function exclusiveClaim(
  name: string,
  node: string,
  levels: Readonly<Record<string, string | null>>,
): object {
  const labels = Object.fromEntries(
    Object.entries(levels).map(([each, level]) => [nodeLabel(each), level]),
  );
  return {
    apiVersion: API_VERSION,
    kind: 'IPClaim',
    metadata: { name, labels },
    spec: { node },
  };
}
