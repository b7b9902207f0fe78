/**
 * Hears what changes: a netlink socket in the kernel's multicast groups, read by the event loop like any other socket.
 *
 * Node has no door for netlink sockets: `net.Socket` refuses a descriptor whose kind it does not know. So it is given an unconnected
 * UNIX socket, and before the loop first looks, the netlink socket takes that number over (dup3). libuv reads with read(2),
 * which gives one datagram at a time: no thread waits, nothing polls, `unref` works and closing is immediate.
 *
 * The monitor says that something changed, not what: whoever listens reads the table again, which is right whatever was missed.
 * The first change after a calm second is told at once; what follows is told together, 50 ms after its first: a thousand addresses that come
 * at once are a thousand datagrams, read one per turn of the loop, and must not be a thousand looks at the table. A look that took long is
 * followed by four times as long a pause: a machine whose addresses change without an end keeps four fifths of our time for the sessions. When the kernel had to drop messages (ENOBUFS), or the socket failed, it
 * is opened anew and then `resync` is told: the reader's next list is newer than all that was lost.
 */

import { Socket } from 'node:net';
import {
  closeDescriptor,
  moveDescriptor,
  NetlinkError,
  openNetlink,
  openPlaceholder,
  preferOption,
  SocketOption,
} from './netlink-calls.ts';
import { decodeMessages, uint32 } from './netlink-message.ts';

/** The groups (linux/rtnetlink.h) as bits of the mask that bind(2) takes. */
export const MonitorGroup = {
  links: 1 << 0,
  ipv4Addresses: 1 << 4,
  ipv4Routes: 1 << 6,
  ipv6Addresses: 1 << 8,
  ipv6Routes: 1 << 10,
} as const;

export type Change = 'changed' | 'resync';

export interface MonitorOptions {
  /** several of MonitorGroup, or-ed */
  readonly groups: number;
  readonly onChange: (change: Change) => void;
  /** What the kernel keeps for us until we read it; the kernel's own limit (rmem_max) applies. */
  readonly receiveBufferOctets?: number;
}

/** A socket that fails at once must not make the loop spin; what is missed meanwhile is in the resync. */
const MIN_LIFE_MS = 100;
const REOPEN_AFTER_MS = 1000;
const CALM_MS = 1000;
const GATHER_MS = 50;
/** for each millisecond that a look took */
const PAUSE_MS = 4;
/** thousands of addresses may change while the event loop is busy */
const RECEIVE_BUFFER_OCTETS = 1 << 20;

/** Starts to listen. Never keeps the process alive. */
export class NetlinkMonitor {
  readonly #options: MonitorOptions;
  #socket: Socket | undefined;
  #reopen: NodeJS.Timeout | undefined;
  #pending: Change | undefined;
  #isStopped = false;
  #toldMs = Number.NEGATIVE_INFINITY;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(options: MonitorOptions) {
    this.#options = options;
  }

  /** Whatever happens after this returns is told; where the socket cannot be opened, once it can: that is tried each second. */
  start(): void {
    try {
      this.#socket = this.#open();
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      this.#restartAfter(REOPEN_AFTER_MS);
    }
  }

  /** Nothing is told after this. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#reopen);
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #open(): Socket {
    const socket = openSocket(
      this.#options.groups,
      this.#options.receiveBufferOctets ?? RECEIVE_BUFFER_OCTETS,
    );
    socket.on('data', (datagram: Uint8Array) => {
      if (decodeMessages(datagram).length > 0) this.#tell('changed');
    });
    // Every error is followed by `close`, also ENOBUFS, which is no more than "something was lost".
    socket.on('error', () => undefined);
    const opened = performance.now();
    socket.on('close', () => {
      const livedMs = performance.now() - opened;
      if (livedMs >= MIN_LIFE_MS) this.#restart();
      else this.#restartAfter(MIN_LIFE_MS - livedMs);
    });
    socket.unref();
    return socket;
  }

  #restart(): void {
    if (this.#isStopped) return;
    try {
      this.#socket = this.#open();
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error;
      this.#restartAfter(REOPEN_AFTER_MS);
      return;
    }
    this.#tell('resync');
  }

  #restartAfter(delayMs: number): void {
    if (this.#isStopped) return;
    this.#reopen = setTimeout(() => this.#restart(), delayMs).unref();
  }

  #tell(change: Change): void {
    const isFirst = this.#pending === undefined;
    if (isFirst || change === 'resync') this.#pending = change;
    if (!isFirst) return;
    const nowMs = performance.now();
    const pauseMs = this.#notBeforeMs - nowMs;
    const isCalm = nowMs - this.#toldMs >= CALM_MS && pauseMs <= 0;
    if (isCalm) setImmediate(() => this.#tellNow());
    else setTimeout(() => this.#tellNow(), Math.max(GATHER_MS, pauseMs)).unref();
  }

  #tellNow(): void {
    const told = this.#pending;
    this.#pending = undefined;
    const startedMs = performance.now();
    this.#toldMs = startedMs;
    if (told === undefined || this.#isStopped) return;
    this.#options.onChange(told);
    // behind what the listener has put off to the end of this turn
    setImmediate(() => {
      const nowMs = performance.now();
      this.#notBeforeMs = nowMs + (nowMs - startedMs) * PAUSE_MS;
    }).unref();
  }
}

function openSocket(groups: number, receiveBufferOctets: number): Socket {
  const netlink = openNetlink({ groups, blocking: false });
  preferOption(netlink, SocketOption.receiveBuffer, uint32(receiveBufferOctets));
  let placeholder: number;
  try {
    placeholder = openPlaceholder();
  } catch (error) {
    closeDescriptor(netlink);
    throw error;
  }
  const socket = new Socket({ fd: placeholder, readable: true, writable: false });
  try {
    moveDescriptor(netlink, placeholder);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return socket;
}
