/**
 * MetalLB → ours: IPAddressPool, BGPPeer (v1beta1 and v1beta2), BGPAdvertisement, Community, the ConfigMap of its early versions, and annotations of
 * Services. L2Advertisement and BFDProfile have no counterpart yet. Pure.
 */

import {
  filledText,
  isLoose,
  type Loose,
  part,
  parts,
  text,
} from '../sources/kube/loose-fields.ts';
import { overlaps } from './addresses.ts';
import { groupOf, kindOf, nameOf } from './foreign-objects.ts';
import { type Destination, gap, type Imported, NOTHING, together } from './imported.ts';
import { type AdvertisedPool, advertisementsOf } from './metallb-advertisement.ts';
import { unpackConfigMap } from './metallb-config-map.ts';
import { convertPeer } from './metallb-peer.ts';
import { convertPool } from './metallb-pool.ts';
import { OURS, serviceAnnotations } from './service-annotations.ts';

export const METALLB_GROUP = 'metallb.io';
const OLD_PREFIX = 'metallb.universe.tf/';
const PREFIX = 'metallb.io/';

const ANNOTATIONS = Object.fromEntries(
  [OLD_PREFIX, PREFIX].flatMap((prefix) => [
    [`${prefix}address-pool`, OURS.pool],
    [`${prefix}loadBalancerIPs`, OURS.addresses],
    [`${prefix}allow-shared-ip`, OURS.share],
    // MetalLB's own notes
    [`${prefix}ip-allocated-from-pool`, undefined],
  ]),
);

export function importMetallb(found: readonly Loose[], destination: Destination): Imported {
  const unpacked = found.map((object) =>
    isConfigMap(object) ? unpackConfigMap(object) : { objects: [object], gaps: [] },
  );
  const objects = unpacked.flatMap((each) => each.objects);
  const of = (kind: string) =>
    objects.filter((object) => kindOf(object) === kind && groupOf(object) === METALLB_GROUP);
  const advertisements = of('BGPAdvertisement');
  const isNamed = advertisements.some((each) => Array.isArray(part(each, 'spec')['peers']));
  const communities = aliases(of('Community'));
  const pools = of('IPAddressPool').map((pool) => {
    const advertised: AdvertisedPool = { pool, advertisements, communities };
    return convertPool(pool, advertisementsOf(advertised));
  });
  const peers = of('BGPPeer').map((peer) => convertPeer(peer, { destination, isNamed }));
  const all = together([
    ...pools,
    ...peers,
    serviceAnnotations(
      objects,
      ANNOTATIONS,
      (key) => key.startsWith(OLD_PREFIX) || key.startsWith(PREFIX),
    ),
    ...of('L2Advertisement').map((each) =>
      gap(
        `L2Advertisement ${nameOf(each)}: there is no announcing by ARP and NDP yet; Herald needs a router that speaks BGP`,
      ),
    ),
    ...of('BFDProfile').map((each) => gap(`BFDProfile ${nameOf(each)}: there is no BFD yet`)),
    { ...NOTHING, gaps: unpacked.flatMap(({ gaps }) => gaps) },
  ]);
  return { ...all, gaps: [...all.gaps, ...overlaps(all.documents)] };
}

function isConfigMap(object: Loose): boolean {
  return kindOf(object) === 'ConfigMap' && text(part(object, 'data'), 'config') !== undefined;
}

/** name → value, over all Community objects */
function aliases(communities: readonly Loose[]): ReadonlyMap<string, string> {
  const entries = communities.flatMap((object) => parts(part(object, 'spec'), 'communities'));
  return new Map(
    entries.filter(isLoose).flatMap((entry) => {
      const name = filledText(entry, 'name');
      const value = filledText(entry, 'value');
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
}
