/** The watches of claims that the API server has open, and those that it has ended because they fell behind, by its own counters. */

import type { Cluster } from '../../cluster/support/cluster.ts';

export interface ClaimWatches {
  readonly open: number;
  readonly ended: number;
}

export async function claimWatches({ api }: Cluster): Promise<ClaimWatches> {
  const lines = String(await api.call({ method: 'GET', path: '/metrics' })).split('\n');
  const total = (name: string, label: string) =>
    lines
      .filter((line) => line.startsWith(`${name}{`) && line.includes('resource="ipclaims"'))
      .filter((line) => line.includes(label))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  return {
    open: total('apiserver_longrunning_requests', 'verb="WATCH"'),
    ended: total('apiserver_terminated_watchers_total', ''),
  };
}
