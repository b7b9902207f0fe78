/**
 * The calls of the C library that a netlink socket needs and Node has no words for, through koffi, which is loaded at the first
 * call: an agent that binds no address pays neither its memory nor its time. Numbers are those of Linux on x86-64 and arm64.
 */

import { createRequire } from 'node:module';
import { getSystemErrorName } from 'node:util';

const AF_UNIX = 1;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;
const SOCK_STREAM = 1;
const SOCK_RAW = 3;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SOL_NETLINK = 270;
const MSG_TRUNC = 0x20;

/** level and name of socket options */
export const SocketOption = {
  receiveBuffer: [SOL_SOCKET, 8],
  receiveTimeout: [SOL_SOCKET, 20],
  cappedAck: [SOL_NETLINK, 10],
  extendedAck: [SOL_NETLINK, 11],
  strictCheck: [SOL_NETLINK, 12],
} as const;

/** The kernel said no, or the way to it is broken. `code` is the name of the error: `EPERM`, `ENOBUFS`. */
export class NetlinkError extends Error {
  readonly code: string;
  /** the kernel's answer to a request, not a failure of the socket */
  readonly isRefusal: boolean;

  constructor(code: string, message: string, options: ErrorOptions & { isRefusal?: boolean } = {}) {
    super(message, options);
    this.name = 'NetlinkError';
    this.code = code;
    this.isRefusal = options.isRefusal ?? false;
  }
}

interface Calls {
  readonly socket: (domain: number, type: number, protocol: number) => number;
  readonly bind: (fd: number, address: Uint8Array, length: number) => number;
  readonly close: (fd: number) => number;
  readonly dup3: (from: number, to: number, flags: number) => number;
  readonly flock: (fd: number, operation: number) => number;
  readonly send: (call: BufferCall) => number;
  readonly receive: (call: BufferCall) => number;
  readonly setOption: (call: OptionCall) => number;
  readonly errno: () => number;
}

interface BufferCall {
  readonly fd: number;
  readonly bytes: Uint8Array;
  readonly flags: number;
}

interface OptionCall {
  readonly fd: number;
  readonly level: number;
  readonly name: number;
  readonly value: Uint8Array;
}

let loaded: Calls | undefined;

function load(): Calls {
  if (process.platform !== 'linux') {
    throw new NetlinkError(
      'ENOTSUP',
      `binding addresses and installing routes need Linux; this is ${process.platform}`,
    );
  }
  try {
    return callsOf(createRequire(import.meta.url)('koffi'));
  } catch (cause) {
    const message =
      'binding addresses and installing routes need the package koffi, which cannot be loaded';
    throw new NetlinkError('ENOTSUP', message, { cause });
  }
}

function callsOf(koffi: typeof import('koffi')): Calls {
  // null is the program itself, where the C library already is
  const library = koffi.load(null);
  const send = library.func('int64_t send(int, const uint8_t *, size_t, int)');
  const receive = library.func('int64_t recv(int, _Out_ uint8_t *, size_t, int)');
  const setsockopt = library.func('int setsockopt(int, int, int, const uint8_t *, uint32_t)');
  return {
    socket: library.func('int socket(int, int, int)'),
    bind: library.func('int bind(int, const uint8_t *, uint32_t)'),
    close: library.func('int close(int)'),
    dup3: library.func('int dup3(int, int, int)'),
    flock: library.func('int flock(int, int)'),
    send: ({ fd, bytes, flags }) => Number(send(fd, bytes, bytes.length, flags)),
    receive: ({ fd, bytes, flags }) => Number(receive(fd, bytes, bytes.length, flags)),
    setOption: ({ fd, level, name, value }) => setsockopt(fd, level, name, value, value.length),
    errno: () => koffi.errno(),
  };
}

function calls(): Calls {
  loaded ??= load();
  return loaded;
}

function check(call: string, result: number): number {
  if (result >= 0) return result;
  const code = getSystemErrorName(-calls().errno());
  throw new NetlinkError(code, `${call}: ${code}`);
}

/** Whoever asks owns the descriptor. `groups` are the multicast groups to hear, as a mask. */
export function openNetlink(options: { groups?: number; blocking: boolean }): number {
  const mode = SOCK_RAW | SOCK_CLOEXEC | (options.blocking ? 0 : SOCK_NONBLOCK);
  const fd = check('socket', calls().socket(AF_NETLINK, mode, NETLINK_ROUTE));
  const address = new Uint8Array(12);
  const view = new DataView(address.buffer);
  view.setUint16(0, AF_NETLINK, true);
  view.setUint32(8, options.groups ?? 0, true);
  try {
    check('bind', calls().bind(fd, address, address.length));
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
  return fd;
}

/** A UNIX socket that is connected to nothing: a number whose place something else can take. */
export function openPlaceholder(): number {
  return check('socket', calls().socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/** From now on `to` is the same open socket as `from`, which is closed. */
export function moveDescriptor(from: number, to: number): void {
  try {
    check('dup3', calls().dup3(from, to, SOCK_CLOEXEC));
  } finally {
    closeDescriptor(from);
  }
}

export function closeDescriptor(fd: number): void {
  calls().close(fd);
}

export function setOption(fd: number, [level, name]: readonly [number, number], value: Uint8Array) {
  check('setsockopt', calls().setOption({ fd, level, name, value }));
}

/** For what an older kernel does not know and we can do without. */
export function preferOption(
  fd: number,
  [level, name]: readonly [number, number],
  value: Uint8Array,
) {
  calls().setOption({ fd, level, name, value });
}

export function send(fd: number, bytes: Uint8Array): void {
  check('send', calls().send({ fd, bytes, flags: 0 }));
}

/** The whole length of the datagram, also of what did not fit. */
export function receive(fd: number, buffer: Uint8Array): number {
  return check('recv', calls().receive({ fd, bytes: buffer, flags: MSG_TRUNC }));
}

const LOCK_EXCLUSIVE_NOW = 2 | 4;

/** True when this descriptor now has the file to itself, until it is closed, by whatever end of the process. */
export function lockFile(fd: number): boolean {
  return calls().flock(fd, LOCK_EXCLUSIVE_NOW) === 0;
}
