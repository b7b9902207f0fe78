/**
 * The subject of the rtnetlink tests: real tables, run by node inside a namespace and told what to do over stdin, one JSON command
 * per line. It decides nothing. After `end` nothing of ours may keep the process: a monitor that does would show.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { address, prefix } from 'bgp-ts';
import type { Outcome } from '../../../src/linux/address-table.ts';
import { arpWarnings } from '../../../src/linux/arp-warnings.ts';
import { NetlinkMonitor } from '../../../src/linux/netlink-monitor.ts';
import {
  RtnetlinkAddressTable,
  type RtnetlinkAddressTableOptions,
} from '../../../src/linux/rtnetlink-address-table.ts';
import { RtnetlinkRouteTable } from '../../../src/linux/rtnetlink-route-table.ts';

export interface SubjectStart extends RtnetlinkAddressTableOptions {
  readonly routes?: { readonly table: number; readonly metric?: number };
}

export interface SubjectNextHop {
  readonly gateway?: string;
  readonly interface?: string;
}

export type SubjectCommand =
  | { readonly kind: 'list' | 'links' | 'subscribe' | 'unsubscribe' | 'end' | 'exit' }
  | { readonly kind: 'add' | 'remove'; readonly address: string; readonly interface: string }
  | { readonly kind: 'add-many'; readonly addresses: readonly string[]; readonly interface: string }
  | { readonly kind: 'list-many'; readonly times: number }
  | { readonly kind: 'overflow'; readonly begun: string; readonly enough: string }
  | { readonly kind: 'arp-warnings'; readonly interface: string }
  | {
      readonly kind: 'route-replace';
      readonly prefix: string;
      /** none: unreachable */
      readonly nextHops: readonly SubjectNextHop[];
    }
  | { readonly kind: 'route-remove'; readonly prefix: string }
  | { readonly kind: 'route-list' | 'route-clear' };

export type SubjectLine =
  | { readonly kind: 'answer'; readonly value: unknown }
  | { readonly kind: 'change'; readonly change: string }
  | { readonly kind: 'failed'; readonly error: string };

const say = (line: SubjectLine) => process.stdout.write(`${JSON.stringify(line)}\n`);

const start: SubjectStart = JSON.parse(process.argv[2] ?? '{}');
const table = new RtnetlinkAddressTable(start);
const routes = new RtnetlinkRouteTable({ table: 254, ...start.routes });
let unsubscribe: (() => void) | undefined;

/**
 * A monitor with hardly any buffer, and an event loop that does not turn while the kernel has much to say: from the moment in which there
 * is a file `begun` until there is a file `enough`.
 */
function overflow(begun: string, enough: string): void {
  const monitor = new NetlinkMonitor({
    groups: 0xffff,
    receiveBufferOctets: 1,
    onChange: (change) => say({ kind: 'change', change }),
  });
  monitor.start();
  writeFileSync(begun, '');
  while (!existsSync(enough)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
}

const countOurs = () => table.list().filter((each) => each.ours).length;

function addMany(addresses: readonly string[], interfaceName: string): unknown {
  // of the processor, not of the clock on the wall: the machine may have other work
  const before = process.cpuUsage();
  const outcomes: Outcome[] = addresses.map((text) => table.add(address(text), interfaceName));
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1000;
  const added = outcomes.filter((each) => each.kind === 'done' && each.changed).length;
  return { added, ms };
}

function replaceRoute(text: string, hops: readonly SubjectNextHop[]): Outcome {
  const nextHops = hops.map(({ gateway, interface: name }) => ({
    ...(gateway === undefined ? {} : { gateway: address(gateway) }),
    ...(name === undefined ? {} : { interface: name }),
  }));
  return routes.replace({ prefix: prefix(text), nextHops });
}

function obey(command: SubjectCommand): unknown {
  switch (command.kind) {
    case 'list':
      return table.list();
    case 'links':
      return table.links();
    case 'add':
      return table.add(address(command.address), command.interface);
    case 'remove':
      return table.remove(address(command.address), command.interface);
    case 'add-many':
      return addMany(command.addresses, command.interface);
    case 'subscribe':
      unsubscribe = table.subscribe(() => say({ kind: 'change', change: 'changed' }));
      return null;
    case 'unsubscribe':
      unsubscribe?.();
      return null;
    case 'list-many':
      return Array.from({ length: command.times }, () => countOurs());
    case 'overflow':
      overflow(command.begun, command.enough);
      return null;
    case 'arp-warnings':
      return arpWarnings(command.interface, table.links());
    case 'route-replace':
      return replaceRoute(command.prefix, command.nextHops);
    case 'route-remove':
      return routes.remove(prefix(command.prefix));
    case 'route-list':
      return routes.list();
    case 'route-clear':
      return routes.clear();
    case 'end':
    case 'exit':
      return null;
  }
}

try {
  for await (const line of createInterface({ input: process.stdin })) {
    const command: SubjectCommand = JSON.parse(line);
    say({ kind: 'answer', value: obey(command) });
    if (command.kind === 'exit') process.exit(0);
    if (command.kind === 'end') break;
  }
  process.stdin.destroy();
} catch (error) {
  say({ kind: 'failed', error: error instanceof Error ? (error.stack ?? '') : `${error}` });
  process.exit(1);
}
