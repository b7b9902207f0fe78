/** The router on this machine: Node's clock and sockets, this kernel's addresses and, where asked for, its routes. */

import { networkInterfaces } from 'node:os';
import { type Address, addressKey, createSpeaker, nodeClock, parseAddress } from 'bgp-ts';
import { errorCode } from '../error-code.ts';
import { MonitorGroup, NetlinkMonitor } from '../linux/netlink-monitor.ts';
import { RtnetlinkRouteTable } from '../linux/rtnetlink-route-table.ts';
import { Router, type RouterSettings, type RouterWorld } from './router.ts';

export interface NodeRouterOptions {
  /** put routes into this table of the kernel (254 is main) */
  readonly install?: { readonly table: number };
}

/** Addresses come and go; asking the kernel for each UPDATE would cost more than the UPDATE. */
const ADDRESSES_FRESH_MS = 1000;

export function createRouter(settings: RouterSettings, options: NodeRouterOptions = {}): Router {
  return new Router(settings, {
    clock: nodeClock,
    createSpeaker: (listen) => createSpeaker({ listen }),
    isOwnAddress: ownAddresses(),
    ...(options.install === undefined ? {} : { kernel: kernel(options.install.table) }),
  });
}

function kernel(table: number): NonNullable<RouterWorld['kernel']> {
  return {
    table: new RtnetlinkRouteTable({ table }),
    watch: (onChange) => {
      const { links, ipv4Addresses, ipv6Addresses } = MonitorGroup;
      const monitor = new NetlinkMonitor({
        groups: links | ipv4Addresses | ipv6Addresses,
        onChange,
      });
      monitor.start();
      return () => monitor.stop();
    },
  };
}

/**
 * Without those of the loopback interface: where neighbours live on this very machine (the demo), 127.0.0.1 and ::1 are theirs
 * as much as ours. The kernel refuses them as gateways by itself.
 */
function ownAddresses(): (address: Address) => boolean {
  let known = new Set<string>();
  let readAtMs = Number.NEGATIVE_INFINITY;
  return (address) => {
    const nowMs = nodeClock.now();
    if (nowMs - readAtMs > ADDRESSES_FRESH_MS) {
      known = externalAddresses() ?? known;
      readAtMs = nowMs;
    }
    return known.has(addressKey(address));
  };
}

/** undefined: they cannot be read just now (no descriptor is left), which says nothing about what is there */
function externalAddresses(): Set<string> | undefined {
  try {
    const entries = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    const addresses = entries
      .filter((entry) => !entry.internal)
      .flatMap((entry) => parseAddress(entry.address.split('%', 1)[0] ?? '') ?? []);
    return new Set(addresses.map(addressKey));
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}
