/** MetalLB's BGPPeer, of v1beta1 or v1beta2 → BGPPeer. Pure. A password that stands in it is never printed. */

import { parseAddress } from 'bgp-ts';
import { LONGEST_LEASE_SECONDS } from '../model/lease-times.ts';
import { ROUTER_LATE_SECONDS } from '../model/router-memory.ts';
import {
  filledText,
  flag,
  items,
  type Loose,
  part,
  text,
  wholeNumber,
} from '../sources/kube/loose-fields.ts';
import { nameOf } from './foreign-objects.ts';
import { durationSeconds, timersOf } from './go-duration.ts';
import {
  type Destination,
  documentOf,
  gap,
  type HeraldDocument,
  type Imported,
  passwordField,
  quoted,
} from './imported.ts';
import { PEER_LABEL } from './metallb-advertisement.ts';
import { anyOf } from './selectors.ts';

export interface PeerOptions {
  readonly destination: Destination;
  /** some advertisement names peers: they need labels */
  readonly isNamed: boolean;
}

/** as FRR has it where it is not said how many */
const MOST_HOPS = 255;

export function convertPeer(object: Loose, options: PeerOptions): Imported {
  const name = nameOf(object);
  const about = `BGPPeer ${name}`;
  const spec = part(object, 'spec');
  const address = filledText(spec, 'peerAddress');
  const parsed = address === undefined ? undefined : parseAddress(address);
  if (address === undefined || parsed === undefined) {
    const why = address === undefined ? 'it has no peerAddress' : `'${address}' is no address`;
    return gap(
      `${about}: ${why}; sessions over an interface alone (unnumbered) have no counterpart`,
    );
  }
  const asn = wholeNumber(spec, 'peerASN') ?? filledText(spec, 'dynamicASN');
  if (asn === undefined || asn === 0)
    return gap(`${about}: it says neither peerASN nor dynamicASN`);
  const password = passwordOf(object, options.destination);
  const fields = {
    address,
    asn,
    ...fieldsOf(spec),
    ...(flag(spec, 'dualStackAddressFamily') === true ? {} : { families: [parsed.family] }),
    ...password.fields,
  };
  return {
    documents: peersPerSelector(name, fields, { spec, isNamed: options.isNamed }),
    commands: password.commands,
    gaps: gapsOf(spec, about),
  };
}

function fieldsOf(spec: Loose): Loose {
  const localASN = wholeNumber(spec, 'myASN');
  const port = wholeNumber(spec, 'peerPort');
  const sourceAddress = filledText(spec, 'sourceAddress');
  const routerID = filledText(spec, 'routerID');
  const timers = timersOf(text(spec, 'holdTime'), text(spec, 'keepaliveTime'));
  const connect = durationSeconds(text(spec, 'connectTime') ?? '');
  const all = { ...timers, ...(connect === undefined ? {} : { connectRetrySeconds: connect }) };
  return {
    ...(localASN === undefined ? {} : { localASN }),
    ...(port === undefined || port === 0 || port === 179 ? {} : { port }),
    ...(sourceAddress === undefined ? {} : { sourceAddress }),
    ...(Object.keys(all).length === 0 ? {} : { timers: all }),
    ...(flag(spec, 'ebgpMultiHop') === true ? { multihop: MOST_HOPS } : {}),
    ...(flag(spec, 'enableGracefulRestart') === true ? { gracefulRestart: {} } : {}),
    ...(routerID === undefined ? {} : { overrides: [{ routerID }] }),
  };
}

function peersPerSelector(
  name: string,
  fields: Loose,
  { spec, isNamed }: { readonly spec: Loose; readonly isNamed: boolean },
): readonly HeraldDocument[] {
  const labels: Record<string, string> = isNamed ? { [PEER_LABEL]: name } : {};
  const selectors = anyOf(items(spec, 'nodeSelectors'));
  const [only] = selectors;
  if (selectors.length < 2) {
    const nodes = only === undefined ? {} : { nodeSelector: only };
    return [documentOf('BGPPeer', name, { ...fields, ...nodes }, labels)];
  }
  return selectors.map((nodeSelector, index) =>
    documentOf('BGPPeer', `${name}-${index + 1}`, { ...fields, nodeSelector }, labels),
  );
}

function passwordOf(object: Loose, destination: Destination) {
  const name = nameOf(object);
  const spec = part(object, 'spec');
  const secret = part(spec, 'passwordSecret');
  const from = filledText(secret, 'name');
  const isInline = filledText(spec, 'password') !== undefined;
  if (from === undefined && !isInline) return { fields: {}, commands: [] };
  const password = passwordField(name, destination);
  const [where = ''] = Object.values(password).map(String);
  const namespace = filledText(secret, 'namespace') ?? 'metallb-system';
  const read =
    from === undefined
      ? `# the password of BGPPeer ${name} stands in the document itself and is not printed; put it into the file 'password':`
      : `kubectl -n ${quoted(namespace)} get secret ${quoted(from)} -o jsonpath='{.data.password}' | base64 -d > password`;
  const write =
    destination === 'cluster'
      ? `kubectl -n herald-system create secret generic ${quoted(where)} --from-file=password && rm password`
      : `install -m 0600 password ${quoted(where)} && rm password`;
  return { fields: { password }, commands: [read, write] };
}

function gapsOf(spec: Loose, about: string): readonly string[] {
  const without = (field: string, why: string) =>
    spec[field] === undefined || spec[field] === '' || spec[field] === false
      ? []
      : [`${about}: ${field} has no counterpart${why}`];
  const several = anyOf(items(spec, 'nodeSelectors')).length;
  const hold = durationSeconds(text(spec, 'holdTime') ?? '') ?? 0;
  return [
    ...without('bfdProfile', ': there is no BFD yet, and a hold time of 9 s is the default'),
    ...without('vrf', ''),
    ...without('disableMP', ': families says what a session carries'),
    ...(hold + ROUTER_LATE_SECONDS <= LONGEST_LEASE_SECONDS
      ? []
      : [
          `${about}: with holdTime ${hold}s the router keeps the path of a dead node for up to ${hold} s, and an address of an exclusive pool moves only after that; Herald's default is 9 s`,
        ]),
    ...(several < 2
      ? []
      : [
          `${about}: nodeSelectors has ${several} entries, so there are as many BGPPeers; a node that two of them select would open two sessions`,
        ]),
  ];
}
