/** The ConfigMap of MetalLB before it had kinds of its own: its `config` is unpacked into the kinds that it has now. Pure. */

import {
  filledText,
  flag,
  isLoose,
  type Loose,
  labels,
  part,
  parts,
  text,
  texts,
} from '../sources/kube/loose-fields.ts';
import { nameOf, parseObjects } from './foreign-objects.ts';

export interface Unpacked {
  readonly objects: readonly Loose[];
  readonly gaps: readonly string[];
}

const object = (kind: string, name: string, spec: Loose): Loose => ({
  apiVersion: 'metallb.io/v1beta1',
  kind,
  metadata: { name },
  spec,
});

export function unpackConfigMap(map: Loose): Unpacked {
  const read = parseObjects(text(part(map, 'data'), 'config') ?? '');
  if (!read.ok) {
    return { objects: [], gaps: [`ConfigMap ${nameOf(map)}: its config: ${read.sentence}`] };
  }
  const [config = {}] = read.objects;
  return {
    objects: [
      ...parts(config, 'address-pools').flatMap(poolOf),
      ...parts(config, 'peers').map(peerOf),
      ...communitiesOf(config),
      ...parts(config, 'bfd-profiles').map((each) =>
        object('BFDProfile', filledText(each, 'name') ?? 'unnamed', {}),
      ),
    ],
    gaps: [],
  };
}

function poolOf(pool: Loose): readonly Loose[] {
  const name = filledText(pool, 'name') ?? 'unnamed';
  const spec = {
    addresses: texts(pool, 'addresses'),
    autoAssign: flag(pool, 'auto-assign') ?? true,
    avoidBuggyIPs: flag(pool, 'avoid-buggy-ips') ?? false,
  };
  const made = object('IPAddressPool', name, spec);
  if (text(pool, 'protocol') === 'layer2') {
    return [made, object('L2Advertisement', name, { ipAddressPools: [name] })];
  }
  const entries = parts(pool, 'bgp-advertisements');
  const written = entries.length === 0 ? [{}] : entries;
  return [made, ...written.map((entry, index) => advertisementOf(entry, name, index))];
}

function advertisementOf(entry: Loose, pool: string, index: number): Loose {
  return object('BGPAdvertisement', index === 0 ? pool : `${pool}-${index + 1}`, {
    ipAddressPools: [pool],
    aggregationLength: entry['aggregation-length'],
    aggregationLengthV6: entry['aggregation-length-v6'],
    localPref: entry['localpref'],
    communities: texts(entry, 'communities'),
    ...(texts(entry, 'peers').length === 0 ? {} : { peers: texts(entry, 'peers') }),
  });
}

function peerOf(peer: Loose, index: number): Loose {
  return object('BGPPeer', filledText(peer, 'name') ?? `peer-${index + 1}`, {
    peerAddress: peer['peer-address'],
    peerASN: peer['peer-asn'],
    myASN: peer['my-asn'],
    peerPort: peer['peer-port'],
    holdTime: peer['hold-time'],
    keepaliveTime: peer['keepalive-time'],
    routerID: peer['router-id'],
    sourceAddress: peer['source-address'],
    password: peer['password'],
    bfdProfile: peer['bfd-profile'],
    ebgpMultiHop: peer['ebgp-multihop'],
    nodeSelectors: parts(peer, 'node-selectors').map((each) => ({
      matchLabels: labels(each, 'match-labels'),
      matchExpressions: parts(each, 'match-expressions'),
    })),
  });
}

function communitiesOf(config: Loose): readonly Loose[] {
  const named = config['bgp-communities'];
  if (!isLoose(named)) return [];
  const communities = Object.entries(named).map(([name, value]) => ({ name, value }));
  return [object('Community', 'config', { communities })];
}
