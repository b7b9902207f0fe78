/** The server takes up new roles after a moment, those of a namespace by themselves; what it refuses until then is no fault of ours. */

import { NAMESPACE } from '../../../src/model/names.ts';
import { isNotFound } from '../../../src/sources/kube/api.ts';
import { IP_CLAIMS, LEASES } from '../../../src/sources/kube/resources.ts';
import { untilValue } from '../../support/poll.ts';
import type { Cluster } from './cluster.ts';

/** Until an account of deploy/base may do what its ClusterRole and its Role allow. */
export async function rolesInForce(cluster: Cluster, account: string): Promise<void> {
  const api = cluster.apiAs(await cluster.serviceAccountKubeconfig(NAMESPACE, account));
  const mayList = () => api.list(IP_CLAIMS).then(() => true);
  const mayGet = () => api.get(LEASES, 'herald-controller').then(() => true, isNotFound);
  await untilValue(
    `${account} may list claims and get Leases`,
    async () => (await mayList()) && (await mayGet()),
    (isAllowed) => isAllowed,
  );
  api.close();
}
