/**
 * The few calls of the C library that Node has no words for: a socket whose options are set before it connects, and
 * options that only Linux knows. Reached through koffi, which is loaded at the first call and not before: a speaker that
 * uses no such option pays neither its 8 MB nor its 20 ms.
 *
 * Numbers are those of Linux on x86-64 and arm64. Failures are `SystemCallError`s with the name of the error; what they
 * mean to a person is said by the callers.
 */

import { createRequire } from 'node:module';
import { endianness } from 'node:os';
import { getSystemErrorName } from 'node:util';
import { type Address, addressToBytes, type Family } from '../net/address.ts';
import { TransportError } from './transport.ts';

const AF_INET = 2;
const AF_INET6 = 10;
const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0o4000;
const SOCK_CLOEXEC = 0o2000000;

export const isLittleEndian = endianness() === 'LE';

export class SystemCallError extends Error {
  /** `EPERM` and its like */
  readonly code: string;

  constructor(call: string, errno: number) {
    const code = getSystemErrorName(-errno);
    super(`${call}: ${code}`);
    this.name = 'SystemCallError';
    this.code = code;
  }
}

interface Calls {
  readonly socket: (domain: number, type: number, protocol: number) => number;
  readonly bind: (fd: number, address: Uint8Array, length: number) => number;
  readonly close: (fd: number) => number;
  readonly ifNameToIndex: (name: string) => number;
  readonly setOption: (call: OptionCall) => number;
  readonly getOption: (call: OptionCall, length: [number]) => number;
  readonly errno: () => number;
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
    throw new TransportError(
      'UNSUPPORTED',
      `TCP-MD5, GTSM, TTL, user timeout and binding to an interface need Linux; this is ${process.platform}`,
    );
  }
  let koffi: typeof import('koffi');
  try {
    koffi = createRequire(import.meta.url)('koffi');
  } catch (cause) {
    throw new TransportError(
      'UNSUPPORTED',
      'TCP-MD5, GTSM, TTL, user timeout and binding to an interface need the package koffi, which cannot be loaded',
      { cause },
    );
  }
  // null is the program itself, where the C library already is
  const library = koffi.load(null);
  const setsockopt = library.func('int setsockopt(int, int, int, const uint8_t *, uint32_t)');
  const getsockopt = library.func(
    'int getsockopt(int, int, int, _Out_ uint8_t *, _Inout_ uint32_t *)',
  );
  return {
    socket: library.func('int socket(int, int, int)'),
    bind: library.func('int bind(int, const uint8_t *, uint32_t)'),
    close: library.func('int close(int)'),
    ifNameToIndex: library.func('uint32_t if_nametoindex(const char *)'),
    setOption: ({ fd, level, name, value }) => setsockopt(fd, level, name, value, value.length),
    getOption: ({ fd, level, name, value }, length) => getsockopt(fd, level, name, value, length),
    errno: () => koffi.errno(),
  };
}

function calls(): Calls {
  loaded ??= load();
  return loaded;
}

/** Loads koffi now: a place to fail before anything is half done. */
export function requireLibc(): void {
  calls();
}

function check(call: string, result: number): number {
  if (result < 0) throw new SystemCallError(call, calls().errno());
  return result;
}

/** A TCP socket that is not connected; whoever asks owns the descriptor. */
export function openTcpSocket(family: Family): number {
  const domain = family === 'ipv4' ? AF_INET : AF_INET6;
  return check('socket', calls().socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

export function closeDescriptor(fd: number): void {
  check('close', calls().close(fd));
}

export function bindSocket(fd: number, socketAddress: Uint8Array): void {
  check('bind', calls().bind(fd, socketAddress, socketAddress.length));
}

export function setOption(fd: number, [level, name]: readonly [number, number], value: Uint8Array) {
  check('setsockopt', calls().setOption({ fd, level, name, value }));
}

/** What the kernel answers, as long as it is. */
export function getOption(
  fd: number,
  [level, name]: readonly [number, number],
  capacity: number,
): Uint8Array {
  const value = new Uint8Array(capacity);
  const length: [number] = [capacity];
  check('getsockopt', calls().getOption({ fd, level, name, value }, length));
  return value.subarray(0, length[0]);
}

export function int32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value, isLittleEndian);
  return bytes;
}

/** 0 where there is no such interface */
export function interfaceIndex(name: string): number {
  return calls().ifNameToIndex(name);
}

/**
 * `sockaddr_in` or `sockaddr_in6` as the socket's family wants it: an IPv4 address on an IPv6 socket is written
 * v4-mapped (RFC 4291 §2.5.5.2).
 */
export function socketAddress(
  socketFamily: Family,
  endpoint: { address: Address; port: number; scope?: number },
): Uint8Array {
  const bytes = new Uint8Array(socketFamily === 'ipv4' ? 16 : 28);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, socketFamily === 'ipv4' ? AF_INET : AF_INET6, isLittleEndian);
  view.setUint16(2, endpoint.port);
  const octets = addressToBytes(endpoint.address);
  if (socketFamily === 'ipv4') {
    bytes.set(octets, 4);
    return bytes;
  }
  if (endpoint.address.family === 'ipv4') bytes.set([0xff, 0xff], 18);
  bytes.set(octets, octets.length === 4 ? 20 : 8);
  view.setUint32(24, endpoint.scope ?? 0, isLittleEndian);
  return bytes;
}
