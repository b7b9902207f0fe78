/**
 * Which next hops a session offers. Default is "self": the session's own local address for its family, and for the other
 * family an address of the interface that carries the session. Pure; the addresses of the interface come in as data.
 *
 * What a session has chosen stays while the interface has it: Linux lists the newest IPv6 address first, and a route that is moved to it
 * gains nothing. Nor does an interface that is not listed take anything back: without carrier it is not, though the session may outlive that.
 */

import type { NextHops } from '../bgp/pack.ts';
import type { InterfaceAddresses } from '../io/interface-addresses.ts';
import {
  type Address,
  addressEquals,
  type Ipv4Address,
  type Ipv6Address,
  isLinkLocal,
} from '../net/address.ts';
import type { NextHopSettings } from './settings.ts';

/** `isExtended`: IPv4 routes of a session over IPv6 lead to its own address too (RFC 8950), whatever IPv4 its interface has. */
export function sessionNextHops(
  settings: NextHopSettings,
  local: Address,
  onInterface: InterfaceAddresses | undefined,
  isExtended = false,
): NextHops {
  const ipv4 = settings.ipv4 ?? (isExtended ? local : ownIpv4(local, onInterface));
  const ipv6 = settings.ipv6 ?? ownIpv6(local, onInterface);
  const linkLocal = settings.ipv6LinkLocal === true ? ownLinkLocal(local, onInterface) : undefined;
  return {
    ...(ipv4 === undefined ? {} : { ipv4 }),
    ...(ipv6 === undefined ? {} : { ipv6 }),
    ...(linkLocal === undefined ? {} : { ipv6LinkLocal: linkLocal }),
  };
}

/** What the interface has now, with those in front that were in front before; of an interface that is not listed, what it had. */
export function steadyAddresses(
  before: InterfaceAddresses | undefined,
  now: InterfaceAddresses | undefined,
): InterfaceAddresses | undefined {
  if (before === undefined || now === undefined) return now ?? before;
  return {
    name: now.name,
    ipv4: inFront(before.ipv4[0], now.ipv4),
    ipv6: inFront(before.ipv6[0], now.ipv6),
    linkLocal: inFront(before.linkLocal[0], now.linkLocal),
  };
}

function inFront<T extends Address>(kept: T | undefined, all: readonly T[]): readonly T[] {
  const isKept = (address: T) => kept !== undefined && addressEquals(address, kept);
  return [...all.filter(isKept), ...all.filter((address) => !isKept(address))];
}

function ownIpv4(
  local: Address,
  onInterface: InterfaceAddresses | undefined,
): Ipv4Address | undefined {
  return local.family === 'ipv4' ? local : onInterface?.ipv4[0];
}

function ownIpv6(
  local: Address,
  onInterface: InterfaceAddresses | undefined,
): Ipv6Address | undefined {
  return local.family === 'ipv6' && !isLinkLocal(local) ? local : onInterface?.ipv6[0];
}

function ownLinkLocal(
  local: Address,
  onInterface: InterfaceAddresses | undefined,
): Ipv6Address | undefined {
  return local.family === 'ipv6' && isLinkLocal(local) ? local : onInterface?.linkLocal[0];
}
