/**
 * A BGP identifier for a machine that was given none: an IPv4 address of its own, as every router does it, else a number made of its name. RFC 6286 asks that it is
 * not zero and unique within the AS, so what many machines have is not taken. Pure. In this order:
 *
 *   the address that the kernel speaks with to the rest of the world (the interface of the default route);
 *   the first that is not for this machine alone: no address of a bridge that has no port of hardware (docker0, virbr0, cni0: the same on every machine, or of its pods),
 *   no host address on `lo` or a dummy, where people and proxies put service addresses;
 *   such a host address, since it may as well be the machine's own, but for the interfaces of proxies;
 *   the number.
 *
 * A claimed address is on many machines, so one that a crash of ours left is never taken.
 */

import { type Address, addressEquals } from 'bgp-ts';
import type { KernelAddress, Link } from '../linux/address-table.ts';
import { isServiceAddress, namesWithoutArp } from './service-address.ts';

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** what stands on hardware; a device of hardware has no kind */
const HARDWARE_KINDS = new Set([undefined, 'bond', 'team', 'vlan', 'macvlan']);
/** nothing but their names tells that these addresses are of Services */
const PROXY_INTERFACES = new Set(['kube-ipvs0', 'kube-dummy-if', 'nodelocaldns']);

type Known = Pick<KernelAddress, 'address' | 'prefixLength' | 'interface' | 'ours'>;

/** What the kernel says of this machine. */
export interface Machine {
  readonly present: readonly Known[];
  readonly links: readonly Link[];
  /** with which it speaks to the rest of the world over IPv4; absent: there is no such route */
  readonly uplink?: Address;
}

/** undefined: there is no address that would be this machine's alone */
export function addressRouterId({ present, links, uplink }: Machine): number | undefined {
  const withoutArp = namesWithoutArp(links);
  const inner = innerBridges(links);
  const candidates = present.flatMap((known) => {
    const { address, ours, interface: name } = known;
    if (ours || address.family !== 'ipv4' || isLocalOnly(address.bits >>> 0)) return [];
    const isUplink = uplink !== undefined && addressEquals(uplink, address);
    const isService = isServiceAddress(known, withoutArp);
    if (isService ? PROXY_INTERFACES.has(name) : inner.has(name) && !isUplink) return [];
    return [{ id: address.bits >>> 0, rank: isService ? 2 : isUplink ? 0 : 1 }];
  });
  return candidates.toSorted((a, b) => a.rank - b.rank)[0]?.id;
}

/** names of bridges that lead to nothing but this machine's own guests */
function innerBridges(links: readonly Link[]): ReadonlySet<string> {
  const leadsOut = new Set(
    links.flatMap(({ kind, master }) => (HARDWARE_KINDS.has(kind) ? (master ?? []) : [])),
  );
  const inner = links.filter(({ kind, index }) => kind === 'bridge' && !leadsOut.has(index));
  return new Set(inner.map(({ name }) => name));
}

/** 127.0.0.0/8 and 169.254.0.0/16: many machines have the same */
function isLocalOnly(bits: number): boolean {
  return bits >>> 24 === 127 || bits >>> 16 === 0xa9fe || bits === 0;
}

/** FNV-1a over the code units, spread over 1 to 2^32 - 1 */
export function nameRouterId(name: string): number {
  let value = FNV_OFFSET;
  for (const unit of name) {
    value = Math.imul(value ^ (unit.codePointAt(0) ?? 0), FNV_PRIME);
  }
  return value >>> 0 || 1;
}
