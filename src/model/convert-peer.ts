/** A BGPPeer document that has passed the schema → BgpPeer. Says what a schema cannot. Pure. */

import {
  type Address,
  AS_TRANS,
  FAMILIES,
  type Ipv4Address,
  type Ipv6Address,
  isLinkLocal,
  parseAddress,
  parsePrefixMasked,
  parseRouterId,
} from 'bgp-ts';
import type { BgpPeer, PasswordReference, PeerOverride, PeerTarget } from './bgp-peer.ts';
import { Fields } from './fields.ts';
import { optional } from './optional.ts';
import { type Converted, converted, type DocumentSource, type Refusal } from './refusal.ts';

export function convertPeer(document: unknown, source: DocumentSource): Converted<BgpPeer> {
  return converted(() => peerOf(new Fields(document), source));
}

function peerOf(document: Fields, source: DocumentSource): BgpPeer {
  const metadata = document.object('metadata');
  const spec = document.object('spec');
  const timers = spec.object('timers');
  const password = passwordOf(spec, source);
  const restart = spec.optionalObject('gracefulRestart');
  return {
    name: metadata.text('name'),
    labels: metadata.labels('labels'),
    target: targetOf(spec),
    port: spec.number('port'),
    asn: asnOf(spec),
    ...optional('localAsn', localAsnOf(spec)),
    families: FAMILIES.filter((family) => spec.texts('families').includes(family)),
    timers: {
      holdSeconds: timers.number('holdSeconds'),
      keepaliveSeconds: timers.number('keepaliveSeconds'),
      connectRetrySeconds: timers.number('connectRetrySeconds'),
    },
    ...optional('password', password),
    ttlSecurity: spec.flag('ttlSecurity'),
    ...optional('multihop', spec.optionalNumber('multihop')),
    ...optional('sourceAddress', addressOf(spec, 'sourceAddress')),
    ...optional('sourceInterface', spec.optionalText('sourceInterface')),
    nextHop: nextHopOf(spec.optionalObject('nextHop')),
    ...(spec.flag('extendedNextHop') ? { extendedNextHop: true } : {}),
    listen: spec.flag('listen'),
    maxRoutes: spec.number('maxRoutes'),
    ...optional('gracefulRestart', restart && { restartSeconds: restart.number('restartSeconds') }),
    ...optional('nodeSelector', spec.selector('nodeSelector')),
    overrides: spec.objects('overrides').map(overrideOf),
  };
}

function targetOf(spec: Fields): PeerTarget {
  const range = spec.optionalText('addressRange');
  if (range === undefined) return { kind: 'address', ...zonedAddress(spec) };
  const prefix = parsePrefixMasked(range);
  if (prefix === undefined) {
    throw spec.refusal('addressRange', `'${range}' is not a CIDR; write one such as 192.0.2.0/24`);
  }
  return { kind: 'range', range: prefix };
}

/** `address`, with the zone that may stand behind a percent sign */
function zonedAddress(from: Fields): { readonly address: Address; readonly zone?: string } {
  const [text = '', zone] = from.text('address').split('%');
  const address = usableAddress(from, 'address', text);
  if (zone === undefined) return { address };
  if (address.family === 'ipv4' || !isLinkLocal(address)) {
    const what = `a zone (%${zone}) belongs behind a link-local IPv6 address only`;
    throw from.refusal('address', `${what}; remove it, or use sourceInterface`);
  }
  if (!/^[^\s/]{1,15}$/.test(zone)) {
    throw from.refusal('address', `'${zone}' behind the percent sign is no interface name`);
  }
  return { address, zone };
}

function addressOf(from: Fields, key: string): Address | undefined {
  const text = from.optionalText(key);
  return text === undefined ? undefined : usableAddress(from, key, text);
}

function usableAddress(from: Fields, key: string, text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) {
    throw from.refusal(key, `'${text}' is not an IP address; names are not looked up`);
  }
  if (isNoHost(address)) {
    throw from.refusal(key, `${text} is no address that a session could use; give a host's own`);
  }
  return address;
}

/** unspecified, multicast, or 255.255.255.255 */
function isNoHost(address: Address): boolean {
  if (address.family === 'ipv4') return address.bits === 0 || address.bits >>> 28 >= 0xe;
  const { w0, w1, w2, w3 } = address;
  return (w0 | w1 | w2 | w3) === 0 || w0 >>> 24 === 0xff;
}

function asnOf(spec: Fields): BgpPeer['asn'] {
  const asn = spec.numberOrWord('asn', ['external', 'internal']);
  if (asn === AS_TRANS) throw noAsn(spec, 'asn');
  return asn;
}

function localAsnOf(from: Fields): number | undefined {
  const asn = from.optionalNumber('localASN');
  if (asn === AS_TRANS) throw noAsn(from, 'localASN');
  return asn;
}

function noAsn(from: Fields, key: string): Refusal {
  return from.refusal(
    key,
    `${AS_TRANS} stands for AS numbers of 32 bits and is nobody's own (RFC 6793)`,
  );
}

function passwordOf(spec: Fields, source: DocumentSource): PasswordReference | undefined {
  const password = spec.optionalObject('password');
  if (password === undefined) return undefined;
  const file = password.optionalText('file');
  if (source === 'files') {
    if (file !== undefined) return { kind: 'file', path: file };
    const why = 'a Secret can be read in a cluster only';
    throw password.refusal('secret', `${why}; use password.file with the path of a file`);
  }
  if (file === undefined) return { kind: 'secret', name: password.text('secret') };
  const why = 'a file of the node cannot be named in the cluster';
  throw password.refusal('file', `${why}; use password.secret with a Secret of herald-system`);
}

function nextHopOf(nextHop: Fields | undefined): BgpPeer['nextHop'] {
  if (nextHop === undefined) return {};
  return {
    ...optional('ipv4', ipv4Of(nextHop)),
    ...optional('ipv6', ipv6Of(nextHop)),
  };
}

function ipv4Of(nextHop: Fields): Ipv4Address | undefined {
  const address = addressOf(nextHop, 'ipv4');
  if (address === undefined || address.family === 'ipv4') return address;
  throw nextHop.refusal('ipv4', 'the next hop of IPv4 routes must be an IPv4 address');
}

function ipv6Of(nextHop: Fields): Ipv6Address | undefined {
  const address = addressOf(nextHop, 'ipv6');
  if (address === undefined || address.family === 'ipv6') return address;
  throw nextHop.refusal('ipv6', 'the next hop of IPv6 routes must be an IPv6 address');
}

function overrideOf(entry: Fields): PeerOverride {
  const routerId = entry.optionalText('routerID');
  return {
    ...optional('nodeSelector', entry.selector('nodeSelector')),
    ...(entry.has('address') ? zonedAddress(entry) : {}),
    ...optional('localAsn', localAsnOf(entry)),
    ...optional('sourceAddress', addressOf(entry, 'sourceAddress')),
    ...optional('routerId', routerId === undefined ? undefined : routerIdOf(entry, routerId)),
  };
}

function routerIdOf(entry: Fields, text: string): number {
  const id = parseRouterId(text);
  if (id !== undefined) return id;
  throw entry.refusal('routerID', `'${text}' is not a BGP identifier; write it as 192.0.2.1`);
}
