/**
 * Which addresses of a machine are its own, which no claim may take, and which are a service's that something put there. Pure.
 *
 * A prefix that is shorter than a host's is the machine's: with such a one it is in a network. Of a host address (/32, /128) the kernel
 * cannot say whose it is. Proxies bind the addresses of Services so: kube-proxy's IPVS mode on `kube-ipvs0`, kube-router on
 * `kube-dummy-if`, others on `lo` or an uplink. Some providers give a machine its own address so. Hence:
 * - on an interface without ARP (`lo`, dummies, tunnels) a host address is a service's;
 * - elsewhere the Node says whether it is the machine's (InternalIP, ExternalIP). Where no Node says, it is.
 */

import { type Address, addressEquals, addressKey, parseAddress } from 'bgp-ts';
import { hostLength, type KernelAddress, type Link } from '../linux/address-table.ts';
import type { DocumentSource } from '../model/refusal.ts';
import type { View } from './view.ts';

type Place = Pick<KernelAddress, 'interface' | 'address' | 'prefixLength'>;

/** By address key, with the interface. */
export interface OwnAddresses {
  readonly ownAddresses: ReadonlyMap<string, string>;
  /** host addresses where neighbours are asked for them: the machine's own, unless a Node says otherwise */
  readonly hostAddresses: ReadonlyMap<string, string>;
}

export const NO_ADDRESSES: OwnAddresses = { ownAddresses: new Map(), hostAddresses: new Map() };

export function isHostAddress({ address, prefixLength }: Place): boolean {
  return prefixLength === hostLength(address);
}

/** a host address where no neighbour is asked for it: there is where people and proxies put service addresses */
export function isServiceAddress(place: Place, withoutArp: ReadonlySet<string>): boolean {
  return isHostAddress(place) && (place.interface === 'lo' || withoutArp.has(place.interface));
}

export function namesWithoutArp(links: readonly Link[]): ReadonlySet<string> {
  return new Set(links.filter(({ hasArp }) => !hasArp).map(({ name }) => name));
}

/** `links` is asked only where there is a host address to tell */
export function ownAddresses(
  present: readonly KernelAddress[],
  links: () => readonly Link[],
): OwnAddresses {
  const foreign = present.filter(({ ours }) => !ours);
  const hosts = foreign.filter((known) => isHostAddress(known) && known.interface !== 'lo');
  const withoutArp = hosts.length === 0 ? new Set<string>() : namesWithoutArp(links());
  return {
    ownAddresses: byKey(foreign.filter((known) => !isHostAddress(known))),
    hostAddresses: byKey(hosts.filter((known) => !isServiceAddress(known, withoutArp))),
  };
}

function byKey(known: readonly KernelAddress[]): ReadonlyMap<string, string> {
  return new Map(known.map((each) => [addressKey(each.address), each.interface]));
}

type Knowing = Pick<View, 'ownAddresses' | 'hostAddresses' | 'cluster'>;

/** why a claim may not have it: the place where the machine has it; undefined: it is not the machine's */
export function ownPlace(
  address: Address,
  source: DocumentSource | undefined,
  { ownAddresses: own, hostAddresses, cluster }: Knowing,
): string | undefined {
  const onLink = placeIn(own, address);
  if (onLink !== undefined) return onLink;
  const ofNode = cluster?.addresses ?? [];
  if (ofNode.some((text) => isSame(text, address))) return 'status.addresses of its Node';
  const nodeTells = source === 'api' && ofNode.length > 0;
  return nodeTells ? undefined : placeIn(hostAddresses, address);
}

/** the last 32 bits of the addresses: thousands of claims are asked about, and hardly one of them has those of an address of the machine */
const lastWords = new WeakMap<ReadonlyMap<string, string>, ReadonlySet<number>>();

function placeIn(
  places: ReadonlyMap<string, string> | undefined,
  address: Address,
): string | undefined {
  if (places === undefined || places.size === 0) return undefined;
  let words = lastWords.get(places);
  if (words === undefined) {
    words = new Set([...places.keys()].map(lastWordOf));
    lastWords.set(places, words);
  }
  const word = address.family === 'ipv4' ? address.bits : address.w3;
  return words.has(word >>> 0) ? places.get(addressKey(address)) : undefined;
}

/** of an address key */
function lastWordOf(key: string): number {
  return ((key.charCodeAt(key.length - 2) << 16) | key.charCodeAt(key.length - 1)) >>> 0;
}

function isSame(text: string, address: Address): boolean {
  const parsed = parseAddress(text);
  return parsed !== undefined && addressEquals(parsed, address);
}
