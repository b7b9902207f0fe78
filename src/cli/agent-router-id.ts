/**
 * The BGP identifier that an agent starts with. At boot an agent may be faster than the machine's addresses: one that has nothing to go on by waits a moment for
 * an address, so that it does not go by a number that no engineer knows.
 */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type Address, isLinkLocal, nodeClock, parseAddress } from 'bgp-ts';
import { addressRouterId, nameRouterId } from '../agent/router-id.ts';
import { errorCode } from '../error-code.ts';
import type { AddressTable, KernelAddress } from '../linux/address-table.ts';
import { listed } from './agent-speaker.ts';

const WAIT_MS = 3000;
const LOOK_EACH_MS = 100;
/** RFC 7600 §4.8: nobody's address, so the default route leads there. Nothing is sent */
const SOMEWHERE = '192.0.0.8';

export interface Wanted {
  readonly nodeName: string;
  /** of the saved View */
  readonly saved: number | undefined;
  /** after a planned restart routers keep the routes of the speaker that they know */
  readonly isBack: boolean;
}

/** Not for who was given one. The saved one stands, but for a number that stood in for an address. */
export async function agentRouterId(
  addresses: Pick<AddressTable, 'list' | 'links'>,
  { nodeName, saved, isBack }: Wanted,
): Promise<number> {
  const made = nameRouterId(nodeName);
  if (saved !== undefined && (isBack || saved !== made)) return saved;
  const untilMs = nodeClock.now() + WAIT_MS;
  for (;;) {
    const present = listed(() => addresses.list());
    const links = listed(() => addresses.links());
    const uplink = await uplinkAddress();
    const found = addressRouterId({ present, links, ...(uplink === undefined ? {} : { uplink }) });
    if (found !== undefined) return found;
    // the kernel does not list anything: a sandbox without netlink
    if (present.length === 0 && uplink?.family === 'ipv4') return uplink.bits >>> 0;
    // one that has done without IPv4 before waits for it only where there is nothing else to speak with either
    const isEnough = saved !== undefined && present.some(isForOthers);
    if (isEnough || nodeClock.now() >= untilMs) return made;
    await pause(LOOK_EACH_MS);
  }
}

function isForOthers({ address, interface: name }: KernelAddress): boolean {
  return name !== 'lo' && !isLinkLocal(address);
}

/** What the kernel would send from by the default route; undefined where there is none. */
async function uplinkAddress(): Promise<Address | undefined> {
  const socket = createSocket('udp4');
  try {
    socket.connect(9, SOMEWHERE);
    await once(socket, 'connect');
    return parseAddress(socket.address().address);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  } finally {
    socket.close();
  }
}
