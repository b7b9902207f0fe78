/** The watches of claims that the API server has open, and those that it has ended because they fell behind, by its own counters. */

import type { Cluster } from '../../cluster/support/cluster.ts';
import { metricSamples, sumOf } from './metric-samples.ts';

export interface ClaimWatches {
  readonly open: number;
  readonly ended: number;
}

export async function claimWatches({ api }: Cluster): Promise<ClaimWatches> {
  const text = String(await api.call({ method: 'GET', path: '/metrics' }));
  const ofClaims = (metric: string) =>
    metricSamples(text, metric).filter(({ label }) => label('resource') === 'ipclaims');
  const watches = ofClaims('apiserver_longrunning_requests').filter(
    ({ label }) => label('verb') === 'WATCH',
  );
  return { open: sumOf(watches), ended: sumOf(ofClaims('apiserver_terminated_watchers_total')) };
}
