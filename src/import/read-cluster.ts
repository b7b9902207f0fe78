/** Reads the objects of another balancer from the API: what is not there does not count, what may not be read is a sentence. */

import { ApiError, isNotFound, type KubeApi, type Resource } from '../sources/kube/api.ts';
import type { Loose } from '../sources/kube/loose-fields.ts';
import { SERVICES } from '../sources/kube/resources.ts';

export type Origin = 'metallb' | 'kube-vip' | 'externalipcontroller';

interface Kind {
  readonly kind: string;
  readonly apiVersion: string;
  readonly resource: Resource;
  /** only this one */
  readonly name?: string;
  readonly isWanted?: (name: string) => boolean;
}

const custom = (group: string, version: string, plural: string, kind: string): Kind => ({
  kind,
  apiVersion: `${group}/${version}`,
  resource: { group, version, plural },
});

const configMap = (namespace: string, name: string): Kind => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  resource: { group: '', version: 'v1', plural: 'configmaps', namespace },
  name,
});

const SERVICE: Kind = { kind: 'Service', apiVersion: 'v1', resource: SERVICES };
const isKubeVip = (name: string) => name.startsWith('kube-vip');

const KINDS: Readonly<Record<Origin, readonly Kind[]>> = {
  metallb: [
    custom('metallb.io', 'v1beta1', 'ipaddresspools', 'IPAddressPool'),
    custom('metallb.io', 'v1beta2', 'bgppeers', 'BGPPeer'),
    custom('metallb.io', 'v1beta1', 'bgpadvertisements', 'BGPAdvertisement'),
    custom('metallb.io', 'v1beta1', 'l2advertisements', 'L2Advertisement'),
    custom('metallb.io', 'v1beta1', 'communities', 'Community'),
    custom('metallb.io', 'v1beta1', 'bfdprofiles', 'BFDProfile'),
    configMap('metallb-system', 'config'),
    configMap('metallb-system', 'metallb'),
    SERVICE,
  ],
  'kube-vip': [
    configMap('kube-system', 'kubevip'),
    configMap('kube-system', 'plndr'),
    {
      kind: 'DaemonSet',
      apiVersion: 'apps/v1',
      resource: { group: 'apps', version: 'v1', plural: 'daemonsets', namespace: 'kube-system' },
      isWanted: isKubeVip,
    },
    SERVICE,
  ],
  externalipcontroller: [
    custom('ipcontroller.ext', 'v1', 'ipclaimpools', 'IpClaimPool'),
    custom('ipcontroller.ext', 'v1', 'ipclaims', 'IpClaim'),
    custom('ipcontroller.ext', 'v1', 'ipnodes', 'IpNode'),
    SERVICE,
  ],
};

export interface ClusterObjects {
  readonly objects: readonly Loose[];
  /** what could not be read */
  readonly problems: readonly string[];
}

export async function readCluster(api: KubeApi, origin: Origin): Promise<ClusterObjects> {
  const read = await Promise.all(KINDS[origin].map((kind) => readKind(api, kind)));
  return {
    objects: read.flatMap(({ objects }) => objects),
    problems: read.flatMap(({ problems }) => problems),
  };
}

async function readKind(api: KubeApi, wanted: Kind): Promise<ClusterObjects> {
  const { kind, apiVersion, resource, name, isWanted = () => true } = wanted;
  try {
    const found =
      name === undefined ? (await api.list(resource)).items : [await api.get(resource, name)];
    const objects = found
      .filter(({ metadata }) => isWanted(metadata.name))
      // members of a list do not say what they are
      .map((object) => ({ ...object, kind, apiVersion }));
    return { objects, problems: [] };
  } catch (error) {
    if (isNotFound(error)) return { objects: [], problems: [] };
    if (!(error instanceof ApiError)) throw error;
    return { objects: [], problems: [`${kind}: ${error.message}`] };
  }
}
