/**
 * Which next hops a session offers. Default is "self": the session's own local address for its family, and for the other
 * family an address of the interface that carries the session. Pure; the addresses of the interface come in as data.
 */

import type { NextHops } from '../bgp/pack.ts';
import type { InterfaceAddresses } from '../io/interface-addresses.ts';
import type { Address, Ipv4Address, Ipv6Address } from '../net/address.ts';
import { isLinkLocal } from '../net/address.ts';
import type { NextHopSettings } from './settings.ts';

export function sessionNextHops(
  settings: NextHopSettings,
  local: Address,
  onInterface: InterfaceAddresses | undefined,
): NextHops {
  const ipv4 = settings.ipv4 ?? ownIpv4(local, onInterface);
  const ipv6 = settings.ipv6 ?? ownIpv6(local, onInterface);
  const linkLocal = settings.ipv6LinkLocal === true ? ownLinkLocal(local, onInterface) : undefined;
  return {
    ...(ipv4 === undefined ? {} : { ipv4 }),
    ...(ipv6 === undefined ? {} : { ipv6 }),
    ...(linkLocal === undefined ? {} : { ipv6LinkLocal: linkLocal }),
  };
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
