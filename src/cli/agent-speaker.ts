/** The agent's speaker, and what it may take for a next hop on this machine. */

import { networkInterfaces } from 'node:os';
import {
  type Address,
  addressKey,
  type Clock,
  type Endpoint,
  formatAddress,
  type InterfaceAddresses,
  type InterfaceTable,
  NodeTcpTransport,
  nodeClock,
  nodeRandom,
  resolveLocalAddresses,
  Speaker,
} from 'bgp-ts';
import { errorCode } from '../error-code.ts';
import { AddressFlag } from '../linux/address-message.ts';
import type { KernelAddress } from '../linux/address-table.ts';
import type { LockedAddressTable } from '../linux/locked-address-table.ts';

const CLOSE_TIMEOUT_MS = 2000;
/** for a change that the kernel has not told us of */
const LOOK_AGAIN_MS = 1000;

/** A claimed address on the session's interface is no next hop: other nodes have it too. */
export function createAgentSpeaker(addresses: LockedAddressTable, restarting: boolean): Speaker {
  const list = lastRead(() => addresses.list(), []);
  const interfaces = lastRead<InterfaceTable>(networkInterfaces, {});
  const look = remembered(addresses, nodeClock, (): MachineAddresses => {
    const known = list();
    const table = withBestFirst(interfaces(), known);
    return { table, claimed: keysOf(known) };
  });
  return new Speaker({
    restarting,
    clock: nodeClock,
    random: nodeRandom,
    transport: new NodeTcpTransport({ closeTimeoutMs: CLOSE_TIMEOUT_MS }),
    interfaceAddresses: (local) => withoutClaimed(local, look()),
  });
}

/**
 * The kernel is asked again when it has told of a change, or a second later: a look costs as much as the rest of a small decision, and more on
 * a machine with hundreds of interfaces.
 */
export function remembered<T>(
  addresses: Pick<LockedAddressTable, 'changes'>,
  clock: Pick<Clock, 'now'>,
  read: () => T,
): () => T {
  let found: { readonly value: T; readonly changes: number; readonly untilMs: number } | undefined;
  return () => {
    const { changes } = addresses;
    const nowMs = clock.now();
    if (found?.changes !== changes || found.untilMs <= nowMs) {
      found = { value: read(), changes, untilMs: nowMs + LOOK_AGAIN_MS };
    }
    return found.value;
  };
}

/** What the system does not let us read just now (no descriptor is left) is as it was when it last did: not knowing changes nothing. */
export function lastRead<T>(read: () => T, first: T): () => T {
  let last = first;
  return () => {
    try {
      last = read();
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
    }
    return last;
  };
}

interface MachineAddresses {
  readonly table: InterfaceTable;
  /** keys of addresses */
  readonly claimed: ReadonlySet<string>;
}

/** not yet usable, about to go, or changed every day; the last is IFA_F_TEMPORARY, the bit that says "secondary" of IPv4 */
const SECOND_CHOICE = AddressFlag.tentative | AddressFlag.deprecated | AddressFlag.secondary;

/** IPv6 addresses in an order in which the first makes a next hop; one that another machine has as well (`dadfailed`) makes none. */
export function withBestFirst(
  table: InterfaceTable,
  known: readonly Pick<KernelAddress, 'address' | 'interface' | 'flags'>[],
): InterfaceTable {
  const flags = new Map<string, number>();
  for (const { address, interface: name, flags: each } of known) {
    if (address.family === 'ipv6') flags.set(`${name} ${formatAddress(address)}`, each);
  }
  const ranked = Object.entries(table).map(([name, entries = []]) => {
    const has = (text: string, mask: number) => ((flags.get(`${name} ${text}`) ?? 0) & mask) !== 0;
    const usable = entries.filter(({ address }) => !has(address, AddressFlag.duplicate));
    const rank = ({ address }: { readonly address: string }) => Number(has(address, SECOND_CHOICE));
    return [name, usable.toSorted((a, b) => rank(a) - rank(b))] as const;
  });
  return Object.fromEntries(ranked);
}

function keysOf(known: readonly KernelAddress[]): ReadonlySet<string> {
  return new Set(known.flatMap(({ ours, address }) => (ours ? addressKey(address) : [])));
}

function withoutClaimed(
  local: Endpoint,
  { table, claimed }: MachineAddresses,
): InterfaceAddresses | undefined {
  const found = resolveLocalAddresses(local.address, local.zone, table);
  if (found === undefined) return undefined;
  const isFree = (address: Address) => !claimed.has(addressKey(address));
  return { ...found, ipv4: found.ipv4.filter(isFree), ipv6: found.ipv6.filter(isFree) };
}

/** What the kernel lists, or nothing where it cannot be asked just now: none of this is worth ending for. */
export function listed<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch (error) {
    if (errorCode(error) !== undefined) return [];
    throw error;
  }
}
