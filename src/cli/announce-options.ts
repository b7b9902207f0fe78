/**
 * `herald announce`: from arguments to settings. Everything a user can get wrong ends in one sentence (UsageError).
 */

import {
  type Address,
  type ExtendedCommunity,
  type Ipv4Address,
  type Ipv6Address,
  isLinkLocal,
  type LargeCommunity,
  parseAddress,
  parseCommunity,
  parseExtendedCommunity,
  parseLargeCommunity,
  type RouteAttributes,
} from 'bgp-ts';
import { UsageError } from './command.ts';
import {
  isHostAddress,
  readAsn,
  readHold,
  readRouterId,
  required,
  wholeNumber,
} from './option-values.ts';

export interface AnnounceOptions {
  readonly peer: { readonly address: Address; readonly port: number; readonly zone?: string };
  readonly peerAsn: number | 'external' | 'internal';
  readonly asn: number;
  readonly source?: Address;
  readonly routerId?: number;
  readonly nextHop: { readonly ipv4?: Ipv4Address | Ipv6Address; readonly ipv6?: Ipv6Address };
  readonly attributes: RouteAttributes;
  readonly holdSeconds: number;
  readonly passwordFile?: string;
  readonly ttlSecurity: boolean;
  readonly connectTimeoutSeconds?: number;
  readonly from?: string;
  readonly prefixes: readonly string[];
  readonly json: boolean;
}

/** what parseArgs gives for these flags */
export interface AnnounceFlags {
  readonly peer?: string | undefined;
  readonly 'peer-asn'?: string | undefined;
  readonly asn?: string | undefined;
  readonly source?: string | undefined;
  readonly 'router-id'?: string | undefined;
  readonly 'next-hop'?: readonly string[] | undefined;
  readonly community?: readonly string[] | undefined;
  readonly med?: string | undefined;
  readonly 'local-pref'?: string | undefined;
  readonly prepend?: string | undefined;
  readonly hold?: string | undefined;
  readonly 'password-file'?: string | undefined;
  readonly 'ttl-security'?: boolean | undefined;
  readonly 'connect-timeout'?: string | undefined;
  readonly from?: string | undefined;
  readonly json?: boolean | undefined;
}

const MAX_U32 = 0xffffffff;
const MAX_PREPEND = 200;

export function announceOptions(
  flags: AnnounceFlags,
  prefixes: readonly string[],
): AnnounceOptions {
  const source = flags.source === undefined ? undefined : readAddress('--source', flags.source);
  if (flags.from === undefined && prefixes.length === 0) {
    throw new UsageError('give at least one PREFIX, or --from FILE');
  }
  if (flags.from !== undefined && prefixes.length > 0) {
    throw new UsageError('give prefixes as arguments or with --from, not both');
  }
  const peer = readPeer(required('--peer', flags.peer));
  if (source !== undefined && source.family !== peer.address.family) {
    throw new UsageError(
      `--source '${flags.source}' cannot reach --peer '${flags.peer}': one is IPv4, one IPv6`,
    );
  }
  return {
    peer,
    peerAsn: readPeerAsn(required('--peer-asn', flags['peer-asn'])),
    asn: readAsn('--asn', required('--asn', flags.asn)),
    ...(source === undefined ? {} : { source }),
    ...(flags['router-id'] === undefined ? {} : { routerId: readRouterId(flags['router-id']) }),
    nextHop: readNextHops(flags['next-hop'] ?? []),
    attributes: readAttributes(flags),
    holdSeconds: readHold(flags.hold),
    ...(flags['password-file'] === undefined ? {} : { passwordFile: flags['password-file'] }),
    ttlSecurity: flags['ttl-security'] === true,
    ...(flags['connect-timeout'] === undefined
      ? {}
      : { connectTimeoutSeconds: readSeconds('--connect-timeout', flags['connect-timeout']) }),
    ...(flags.from === undefined ? {} : { from: flags.from }),
    prefixes,
    json: flags.json === true,
  };
}

/** ADDRESS, ADDRESS:PORT, [V6], [V6]:PORT; a link-local address carries its interface: fe80::1%eth0 */
export function readPeer(text: string): AnnounceOptions['peer'] {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(text);
  const dotted = /^([\d.]+):(\d+)$/.exec(text);
  const [host, port] = [bracketed?.[1] ?? dotted?.[1] ?? text, bracketed?.[2] ?? dotted?.[2]];
  const percent = host.indexOf('%');
  const address = parseAddress(percent === -1 ? host : host.slice(0, percent));
  const portNumber = port === undefined ? 179 : Number(port);
  if (address === undefined || portNumber < 1 || portNumber > 65535) {
    throw new UsageError(
      `--peer '${text}' is not ADDRESS, ADDRESS:PORT or [IPV6]:PORT (an address, not a host name)`,
    );
  }
  if (!isHostAddress(address)) throw new UsageError(`--peer '${text}' is no address of a host`);
  const zone = percent === -1 ? '' : host.slice(percent + 1);
  const needsZone = address.family === 'ipv6' && isLinkLocal(address);
  if (needsZone !== (percent !== -1) || (needsZone && zone === '')) {
    throw new UsageError(
      `--peer '${text}': a link-local address needs its interface, like fe80::1%eth0, and no other address has one`,
    );
  }
  return { address, port: portNumber, ...(zone === '' ? {} : { zone }) };
}

function readAddress(flag: string, text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw new UsageError(`${flag} '${text}' is not an IP address`);
  if (!isHostAddress(address)) throw new UsageError(`${flag} '${text}' is no address of a host`);
  return address;
}

/** `external` = any but ours, `internal` = ours, learned from the neighbour's OPEN */
function readPeerAsn(text: string): AnnounceOptions['peerAsn'] {
  return text === 'external' || text === 'internal' ? text : readAsn('--peer-asn', text);
}

function readNextHops(texts: readonly string[]): AnnounceOptions['nextHop'] {
  const hops: { ipv4?: Ipv4Address; ipv6?: Ipv6Address } = {};
  for (const text of texts) {
    const address = readAddress('--next-hop', text);
    if (hops[address.family] !== undefined) {
      throw new UsageError(`--next-hop is given twice for ${address.family}`);
    }
    if (address.family === 'ipv4') hops.ipv4 = address;
    else hops.ipv6 = address;
  }
  return hops;
}

function readAttributes(flags: AnnounceFlags): RouteAttributes {
  return {
    ...(flags.med === undefined ? {} : { med: readU32('--med', flags.med) }),
    ...(flags['local-pref'] === undefined
      ? {}
      : { localPref: readU32('--local-pref', flags['local-pref']) }),
    ...(flags.prepend === undefined ? {} : { prepend: readPrepend(flags.prepend) }),
    ...readCommunities(flags.community ?? []),
  };
}

function readCommunities(texts: readonly string[]): RouteAttributes {
  const communities: number[] = [];
  const large: LargeCommunity[] = [];
  const extended: ExtendedCommunity[] = [];
  for (const text of texts) {
    const standard = parseCommunity(text);
    const largeOne = parseLargeCommunity(text);
    const extendedOne = parseExtendedCommunity(text);
    if (standard !== undefined) communities.push(standard);
    else if (largeOne !== undefined) large.push(largeOne);
    else if (extendedOne !== undefined) extended.push(extendedOne);
    else {
      throw new UsageError(
        `--community '${text}' is not one: 65000:1, 65000:1:2 (large), rt:65000:1, ` +
          'link-bandwidth:65000:1.25e8 or a name like no-export or graceful-shutdown',
      );
    }
  }
  return {
    ...(communities.length === 0 ? {} : { communities }),
    ...(large.length === 0 ? {} : { largeCommunities: large }),
    ...(extended.length === 0 ? {} : { extendedCommunities: extended }),
  };
}

function readPrepend(text: string): number {
  const count = wholeNumber(text);
  if (count === undefined || count > MAX_PREPEND) {
    throw new UsageError(`--prepend '${text}' is not a number from 0 to ${MAX_PREPEND}`);
  }
  return count;
}

function readU32(flag: string, text: string): number {
  const value = wholeNumber(text);
  if (value === undefined || value > MAX_U32) {
    throw new UsageError(`${flag} '${text}' is not a number from 0 to ${MAX_U32}`);
  }
  return value;
}

function readSeconds(flag: string, text: string): number {
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds > 0 && seconds <= 86400)) {
    throw new UsageError(`${flag} '${text}' is not a time in seconds (more than 0, at most 86400)`);
  }
  return seconds;
}
