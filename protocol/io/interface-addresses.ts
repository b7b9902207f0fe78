/**
 * Which interface owns a local address, and what else it has: the next hop of the other family when one session carries
 * both (RFC 4760 §3, RFC 2545 §3). Read from the kernel at each call, since addresses come and go.
 */

import { networkInterfaces } from 'node:os';
import {
  type Address,
  addressEquals,
  type Ipv4Address,
  type Ipv6Address,
  isLinkLocal,
  isLoopback,
} from '../net/address.ts';
import { parseAddress } from '../net/address-text.ts';

export interface InterfaceAddresses {
  readonly name: string;
  /** in the kernel's order, the first is the primary one; 169.254.0.0/16 last */
  readonly ipv4: readonly Ipv4Address[];
  /** without link-local ones; unique local addresses (fc00::/7) come after global ones */
  readonly ipv6: readonly Ipv6Address[];
  readonly linkLocal: readonly Ipv6Address[];
}

/** What this module reads of `os.networkInterfaces()`. */
export type InterfaceTable = Readonly<
  Record<string, readonly { readonly address: string }[] | undefined>
>;

/**
 * All addresses of the interface that owns `local`; undefined when none does. A link-local address may be on several
 * interfaces: there `zone` decides. 127.0.0.1 and ::1 are among them only for a session within this machine: to anybody else they are
 * the reader's own.
 *
 * @example resolveLocalAddresses(connection.local.address, connection.local.zone)?.ipv6[0]
 */
export function resolveLocalAddresses(
  local: Address,
  zone?: string,
  table: InterfaceTable = networkInterfaces(),
): InterfaceAddresses | undefined {
  for (const [name, entries] of Object.entries(table)) {
    if (zone !== undefined && isLinkLocal(local) && zone !== name) continue;
    const addresses = (entries ?? []).flatMap(({ address }) => {
      const parsed = parseAddress(address.split('%', 1)[0] ?? '');
      return parsed === undefined ? [] : [parsed];
    });
    if (!addresses.some((address) => addressEquals(address, local))) continue;
    return sort(name, isLoopback(local) ? addresses : addresses.filter(isForOthers));
  }
  return undefined;
}

const isForOthers = (address: Address) => !isLoopback(address);

function sort(name: string, addresses: readonly Address[]): InterfaceAddresses {
  const ipv4 = addresses.filter((address) => address.family === 'ipv4');
  const ipv6 = addresses.filter((address) => address.family === 'ipv6');
  return {
    name,
    ipv4: lastIf(ipv4, isLinkLocal),
    ipv6: lastIf(
      ipv6.filter((address) => !isLinkLocal(address)),
      isUniqueLocal,
    ),
    linkLocal: ipv6.filter(isLinkLocal),
  };
}

/** RFC 4193: fc00::/7 */
function isUniqueLocal(address: Ipv6Address): boolean {
  return address.w0 >>> 25 === 0x7e;
}

function lastIf<T>(values: readonly T[], isLast: (value: T) => boolean): T[] {
  return [...values.filter((value) => !isLast(value)), ...values.filter(isLast)];
}
