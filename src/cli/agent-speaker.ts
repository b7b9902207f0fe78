/** The agent's speaker, and what it may take for a next hop on this machine. */

import { networkInterfaces } from 'node:os';
import {
  type Address,
  addressEquals,
  type Endpoint,
  type InterfaceAddresses,
  type InterfaceTable,
  NodeTcpTransport,
  nodeClock,
  nodeRandom,
  resolveLocalAddresses,
  Speaker,
} from 'bgp-ts';
import type { AddressTable } from '../linux/address-table.ts';
import { NetlinkError } from '../linux/netlink-calls.ts';

const CLOSE_TIMEOUT_MS = 2000;

/** A claimed address on the session's interface is no next hop: other nodes have it too. */
export function createAgentSpeaker(addresses: AddressTable, restarting: boolean): Speaker {
  const look = oncePerTurn(() => ({
    table: networkInterfaces(),
    claimed: listed(() => addresses.list()).filter(({ ours }) => ours),
  }));
  return new Speaker({
    restarting,
    clock: nodeClock,
    random: nodeRandom,
    transport: new NodeTcpTransport({ closeTimeoutMs: CLOSE_TIMEOUT_MS }),
    interfaceAddresses: (local) => withoutClaimed(local, look()),
  });
}

/** The kernel is asked once for all peers of a decision, and anew for the next one: a look costs as much as the rest of a small decision. */
function oncePerTurn<T>(read: () => T): () => T {
  let found: { readonly value: T } | undefined;
  return () => {
    if (found === undefined) queueMicrotask(() => (found = undefined));
    found ??= { value: read() };
    return found.value;
  };
}

interface MachineAddresses {
  readonly table: InterfaceTable;
  readonly claimed: readonly { readonly address: Address }[];
}

function withoutClaimed(
  local: Endpoint,
  { table, claimed }: MachineAddresses,
): InterfaceAddresses | undefined {
  const found = resolveLocalAddresses(local.address, local.zone, table);
  if (found === undefined) return undefined;
  const isFree = (address: Address) =>
    !claimed.some((known) => addressEquals(known.address, address));
  return { ...found, ipv4: found.ipv4.filter(isFree), ipv6: found.ipv6.filter(isFree) };
}

/** What the kernel lists, or nothing where it cannot be asked just now: none of this is worth ending for. */
export function listed<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof NetlinkError) return [];
    throw error;
  }
}
