/**
 * What a claim of the API may ask in its checks: its own address, loopback and this node's addresses. Pure. Otherwise whoever may write a
 * claim could have every node of the cluster knock wherever they like. Names are not followed, since what they stand for can change.
 */

import { type Address, addressEquals, formatAddress, parseAddress } from 'bgp-ts';
import type { CheckTarget } from '../model/check-spec.ts';
import { CA_FILE_IN_API } from '../model/convert-claim.ts';
import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { ownPlace } from './service-address.ts';
import type { View } from './view.ts';

type Knowing = Pick<View, 'ownAddresses' | 'hostAddresses' | 'cluster'>;

/** why its checks are not asked; undefined: they may be */
export function forbiddenCheck(
  { object, source }: Sourced<IpClaim>,
  view: Knowing,
): string | undefined {
  if (source !== 'api') return undefined;
  for (const { target } of object.checks) {
    const host = checkHost(target);
    if (target.kind === 'http' && target.caFile !== undefined) return CA_FILE_IN_API;
    if (host !== undefined && isAllowed(host, object.address, view)) continue;
    const where = `${formatAddress(object.address)}, loopback or an address of the node`;
    return `a check asks ${host ?? target.kind}; a claim of the API may ask only ${where}`;
  }
  return undefined;
}

function isAllowed(host: string, own: Address, view: Knowing): boolean {
  if (host === 'localhost') return true;
  const address = parseAddress(host);
  if (address === undefined) return false;
  if (addressEquals(address, own) || isLoopback(address)) return true;
  return ownPlace(address, 'api', view) !== undefined;
}

function isLoopback(address: Address): boolean {
  if (address.family === 'ipv4') return address.bits >>> 24 === 127;
  const { w0, w1, w2, w3 } = address;
  return (w0 | w1 | w2) === 0 && w3 === 1;
}

/** whom a check asks; undefined: nobody that has an address */
export function checkHost(target: CheckTarget): string | undefined {
  if (target.kind === 'tcp') return target.host;
  if (target.kind !== 'http') return undefined;
  return URL.parse(target.url)?.hostname.replace(/^\[|\]$/g, '');
}
