/** The BGP environment of kube-vip (bgp_as, bgp_peers …) → BGPPeers. Pure. Passwords that stand in it are never printed. */

import { parseAddress } from 'bgp-ts';
import type { Loose } from '../sources/kube/loose-fields.ts';
import { timersOf } from './go-duration.ts';
import {
  type Destination,
  documentOf,
  gap,
  type Imported,
  NOTHING,
  passwordField,
  quoted,
  together,
} from './imported.ts';

export interface Environment {
  /** `DaemonSet kube-vip-ds` */
  readonly about: string;
  readonly values: ReadonlyMap<string, string>;
  readonly nodeSelector: Loose;
}

/** as `address:as:password:multihop:port:mpbgp:bfd`, of which all but the first two may be missing */
interface PeerText {
  readonly address: string;
  readonly asn: number;
  readonly hasPassword: boolean;
  readonly isMultihop: boolean;
  readonly port?: number;
  readonly rest: readonly string[];
}

const MOST_HOPS = 255;

export function convertEnvironment(environment: Environment, destination: Destination): Imported {
  const { about, values } = environment;
  const isOn = (key: string) => values.get(key) === 'true';
  const gaps = [
    ...(isOn('vip_arp') ? [`${about}: vip_arp: there is no announcing by ARP and NDP yet`] : []),
    ...(isOn('cp_enable')
      ? [
          `${about}: cp_enable, the control plane's address ${values.get('address') ?? values.get('vip_address') ?? ''}: see docs/control-plane-address.md`,
        ]
      : []),
    ...(isOn('lb_enable')
      ? [`${about}: lb_enable, kube-vip's own balancing, has no counterpart`]
      : []),
    ...(isOn('svc_election')
      ? [`${about}: svc_election, one node per Service: exclusive pools are the nearest`]
      : []),
  ];
  const id = isOn('bgp_enable') ? routerIdGaps(values, about) : [];
  const bgp = isOn('bgp_enable') ? peersOf(environment, destination) : NOTHING;
  return together([bgp, { ...NOTHING, gaps: [...id, ...gaps] }]);
}

function peersOf(environment: Environment, destination: Destination): Imported {
  const { about, values } = environment;
  const list = (values.get('bgp_peers') ?? '').split(',').map((each) => each.trim());
  const single = singlePeer(values);
  const texts = list.filter((each) => each !== '');
  if (texts.length === 0 && single === undefined) {
    return gap(`${about}: bgp_enable is true, and there is neither bgp_peers nor bgp_peeraddress`);
  }
  const read = texts.map((text) => readPeer(text));
  const peers = texts.length === 0 && single !== undefined ? [single] : read;
  return together(
    peers.map((peer, index) => convertPeer(peer, index, { environment, destination })),
  );
}

/** of several keys instead of one text */
function singlePeer(values: ReadonlyMap<string, string>): PeerText | undefined {
  const address = values.get('bgp_peeraddress') ?? '';
  if (address === '') return undefined;
  return {
    address,
    asn: Number(values.get('bgp_peeras') ?? ''),
    hasPassword: (values.get('bgp_peerpass') ?? '') !== '',
    isMultihop: values.get('bgp_multihop') === 'true',
    rest: [],
  };
}

/** undefined where it is none; an IPv6 address stands in brackets */
function readPeer(text: string): PeerText | undefined {
  const [, bracketed, plain, tail = ''] = /^(?:\[([^\]]+)\]|([^:]*)):(.*)$/.exec(text) ?? [];
  const address = bracketed ?? plain;
  const [asn = '', password = '', multihop = '', port = '', ...rest] = tail.split(':');
  if (address === undefined || !/^\d+$/.test(asn)) return undefined;
  return {
    address,
    asn: Number(asn),
    hasPassword: password !== '',
    isMultihop: multihop === 'true',
    ...(/^\d+$/.test(port) ? { port: Number(port) } : {}),
    rest: rest.filter((each) => each !== '' && each !== 'false'),
  };
}

interface PeerScene {
  readonly environment: Environment;
  readonly destination: Destination;
}

function convertPeer(
  peer: PeerText | undefined,
  index: number,
  { environment, destination }: PeerScene,
): Imported {
  const { about, values, nodeSelector } = environment;
  const number = index + 1;
  const parsed = peer === undefined ? undefined : parseAddress(peer.address);
  if (peer === undefined || parsed === undefined || !(peer.asn > 0)) {
    // the text itself may hold a password
    return gap(`${about}: its BGP peer number ${number} cannot be read; it is left out`);
  }
  const name = `kube-vip-${number}`;
  const document = documentOf('BGPPeer', name, {
    address: peer.address,
    asn: peer.asn,
    ...ownFields(values),
    families: [parsed.family],
    ...(peer.port === undefined || peer.port === 179 ? {} : { port: peer.port }),
    ...(peer.isMultihop ? { multihop: MOST_HOPS } : {}),
    ...(peer.hasPassword ? { password: passwordField(name, destination) } : {}),
    ...(Object.keys(nodeSelector).length === 0
      ? {}
      : { nodeSelector: { matchLabels: nodeSelector } }),
  });
  const left = peer.rest.map(
    (word) => `${about}: '${word}' of its BGP peer number ${number} has no counterpart`,
  );
  return {
    documents: [document],
    commands: peer.hasPassword ? passwordCommands(name, peer.address, destination) : [],
    gaps: left,
  };
}

function ownFields(values: ReadonlyMap<string, string>): Loose {
  const localASN = Number(values.get('bgp_as') ?? '');
  const source = values.get('bgp_sourceip') ?? '';
  const sourceInterface = values.get('bgp_sourceif') ?? '';
  const seconds = (key: string) => {
    const text = values.get(key) ?? '';
    return text === '' ? undefined : `${text}s`;
  };
  const timers = timersOf(seconds('bgp_hold_time'), seconds('bgp_keepalive_interval'));
  return {
    ...(localASN > 0 ? { localASN } : {}),
    ...(source === '' ? {} : { sourceAddress: source }),
    ...(source === '' && sourceInterface !== '' ? { sourceInterface } : {}),
    ...(Object.keys(timers).length === 0 ? {} : { timers }),
  };
}

function routerIdGaps(values: ReadonlyMap<string, string>, about: string): readonly string[] {
  const id = values.get('bgp_routerid') ?? '';
  return id === ''
    ? []
    : [
        `${about}: bgp_routerid ${id} is the same on all nodes; each agent takes an address of its node (--router-id)`,
      ];
}

function passwordCommands(
  name: string,
  address: string,
  destination: Destination,
): readonly string[] {
  const [where = ''] = Object.values(passwordField(name, destination)).map(String);
  const write =
    destination === 'cluster'
      ? `kubectl -n herald-system create secret generic ${quoted(where)} --from-file=password && rm password`
      : `install -m 0600 password ${quoted(where)} && rm password`;
  return [`# the password for ${address} is not printed; put it into the file 'password':`, write];
}
