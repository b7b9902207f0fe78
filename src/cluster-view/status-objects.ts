/** Reads what `herald status` tells of a cluster: everything of our own, Services and the Lease of the controller where that is allowed. */

import { CONTROLLER_LEASE } from '../model/names.ts';
import type { KubeApi } from '../sources/kube/api.ts';
import {
  BGP_PEERS,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  LEASES,
  SERVICES,
} from '../sources/kube/resources.ts';
import { getOther, listOther, listOwn } from './asking.ts';
import type { StatusObjects } from './status.ts';

/** `namespace`: only its Services are looked through */
export async function readStatusObjects(
  api: KubeApi,
  origin: string,
  namespace?: string,
): Promise<StatusObjects> {
  // what tells first that there is no Herald, or no right to see it
  const pools = await listOwn(api, IP_POOLS);
  const services = namespace === undefined ? SERVICES : inNamespace(SERVICES, namespace);
  const [ipNodes, peers, claims, asked, lease] = await Promise.all([
    listOwn(api, IP_NODES),
    listOwn(api, BGP_PEERS),
    listOwn(api, IP_CLAIMS),
    listOther(api, services),
    getOther(api, LEASES, CONTROLLER_LEASE),
  ]);
  return { origin, ipNodes, pools, peers, claims, services: asked, lease };
}
