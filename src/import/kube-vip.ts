/**
 * kube-vip and its cloud provider → ours: the ConfigMap with pools (`plndr` of the first provider, `kubevip` of the later one), the BGP environment of the
 * DaemonSet or static pod, and annotations of Services. Pure.
 */

import { isLoose, type Loose, part, parts, text } from '../sources/kube/loose-fields.ts';
import { overlaps } from './addresses.ts';
import { kindOf, nameOf } from './foreign-objects.ts';
import { type Destination, type Imported, together } from './imported.ts';
import { convertEnvironment, type Environment } from './kube-vip-environment.ts';
import { convertPools, isPoolKey } from './kube-vip-pools.ts';
import { OURS, serviceAnnotations } from './service-annotations.ts';

const PREFIX = 'kube-vip.io/';
const ANNOTATIONS = {
  [`${PREFIX}loadbalancerIPs`]: OURS.addresses,
  // kube-vip's own notes
  [`${PREFIX}vipHost`]: undefined,
};

export function importKubeVip(objects: readonly Loose[], destination: Destination): Imported {
  const maps = objects.filter(isPoolMap);
  const environments = objects.flatMap(environmentsOf);
  const all = together([
    ...maps.map(convertPools),
    ...environments.map((each) => convertEnvironment(each, destination)),
    serviceAnnotations(objects, ANNOTATIONS, (key) => key.startsWith(PREFIX)),
  ]);
  return { ...all, gaps: [...all.gaps, ...overlaps(all.documents)] };
}

function isPoolMap(object: Loose): boolean {
  return kindOf(object) === 'ConfigMap' && Object.keys(part(object, 'data')).some(isPoolKey);
}

/** of each container that is kube-vip's by what is in its environment */
function environmentsOf(object: Loose): readonly Environment[] {
  const kind = kindOf(object);
  if (kind !== 'DaemonSet' && kind !== 'Pod') return [];
  const spec = part(object, 'spec');
  const pod = kind === 'Pod' ? spec : part(part(spec, 'template'), 'spec');
  const nodeSelector = part(pod, 'nodeSelector');
  return parts(pod, 'containers').flatMap((container) => {
    const values = new Map(
      parts(container, 'env')
        .filter(isLoose)
        .map((entry) => [text(entry, 'name') ?? '', text(entry, 'value') ?? '']),
    );
    const isTheirs = ['vip_arp', 'bgp_enable', 'cp_enable', 'svc_enable', 'vip_interface'].some(
      (key) => values.has(key),
    );
    return isTheirs ? [{ about: `${kind} ${nameOf(object)}`, values, nodeSelector }] : [];
  });
}
