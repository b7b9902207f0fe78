/**
 * The socket options of BGP on Linux: TCP-MD5 signatures (RFC 2385), the TTL we send with, GTSM (RFC 5082),
 * TCP_USER_TIMEOUT, binding to an interface. Each function takes a file descriptor and says in a sentence what could not
 * be had. TCP_NODELAY and keepalive are not here: Node sets them.
 *
 * A key goes into the kernel from a buffer that is wiped after the call. No message, cause or object of this file holds
 * it.
 */

import { networkInterfaces } from 'node:os';
import { type Family, isLinkLocal, maxPrefixLength, type Prefix } from '../net/address.ts';
import {
  getOption,
  int32,
  isLittleEndian,
  SystemCallError,
  setOption,
  socketAddress,
} from './libc.ts';
import { transportError } from './system-error.ts';
import {
  type DialOptions,
  type SocketOptions,
  TransportError,
  type TransportErrorCode,
} from './transport.ts';

const IPPROTO_IP = 0;
const SOL_SOCKET = 1;
const IPPROTO_TCP = 6;
const IPPROTO_IPV6 = 41;

const SO_BINDTODEVICE = [SOL_SOCKET, 25] as const;
const TCP_MD5SIG = [IPPROTO_TCP, 14] as const;
const TCP_MD5SIG_EXT = [IPPROTO_TCP, 32] as const;
const TCP_USER_TIMEOUT = [IPPROTO_TCP, 18] as const;

/** The same four for both families; those of IPv4 also work on an IPv6 socket that carries IPv4. */
const ttlOptions = {
  ipv4: {
    send: [IPPROTO_IP, 2],
    minimum: [IPPROTO_IP, 21],
    receive: [IPPROTO_IP, 12],
    last: [IPPROTO_IP, 9],
  },
  ipv6: {
    send: [IPPROTO_IPV6, 16],
    minimum: [IPPROTO_IPV6, 73],
    receive: [IPPROTO_IPV6, 51],
    last: [IPPROTO_IPV6, 6],
  },
} as const;

const maximumTtl = 255;
const kernelDefaultTtl = -1;

/** struct tcp_md5sig: sockaddr_storage, flags, prefix length, key length, interface index, key */
const md5Layout = { flags: 128, prefixLength: 129, keyLength: 130, key: 136, size: 216 } as const;
const TCP_MD5SIG_FLAG_PREFIX = 1;
const maximumKeyLength = 80;

type Hints = Readonly<Partial<Record<TransportErrorCode, string>>>;

/** whether these options need calls that Node does not make */
export function needSystemCalls(options: SocketOptions): boolean {
  return (
    options.password !== undefined ||
    options.ttl !== undefined ||
    options.userTimeoutMs !== undefined
  );
}

/** Throws INVALID_OPTION for a dial that cannot be made as asked. */
export function validateDialOptions(options: DialOptions): void {
  validateSocketOptions(options);
  const { localAddress, remote } = options;
  if (localAddress !== undefined && localAddress.family !== remote.address.family)
    throw invalid(
      `an ${localAddress.family} source cannot reach an ${remote.address.family} neighbour`,
    );
  if (remote.address.family === 'ipv6' && isLinkLocal(remote.address))
    validateZone(remote.zone ?? options.localInterface);
}

/** An unknown name would be dialled as zone 0, that is through any interface, and nothing would be said. */
function validateZone(zone: string | undefined): void {
  if (zone === undefined) throw invalid('a link-local neighbour needs the interface it is on');
  if (networkInterfaces()[zone] !== undefined || /^[1-9]\d*$/.test(zone)) return;
  const sentence = `there is no interface ${zone}, or it is down or has no address`;
  throw new TransportError('ADDRESS_NOT_AVAILABLE', sentence);
}

/** Throws INVALID_OPTION for values that no kernel would take. */
export function validateSocketOptions(options: SocketOptions): void {
  const { password, ttl, userTimeoutMs, keepAliveSeconds } = options;
  if (password !== undefined) {
    const length = Buffer.byteLength(password, 'utf8');
    if (length < 1 || length > maximumKeyLength)
      throw invalid(`a TCP-MD5 password has 1 to ${maximumKeyLength} octets, this one ${length}`);
  }
  if (ttl !== undefined && !isWhole(ttl.hops, 1, maximumTtl))
    throw invalid(`hops are 1 to ${maximumTtl}, not ${ttl.hops}`);
  if (userTimeoutMs !== undefined && !isWhole(userTimeoutMs, 1, 2 ** 31 - 1))
    throw invalid(`a user timeout is a positive number of milliseconds, not ${userTimeoutMs}`);
  if (keepAliveSeconds !== undefined && !isWhole(keepAliveSeconds, 1, 32_767))
    throw invalid(`keepalive idle time is 1 to 32767 seconds, not ${keepAliveSeconds}`);
}

function invalid(sentence: string): TransportError {
  return new TransportError('INVALID_OPTION', sentence);
}

function isWhole(value: number, low: number, high: number): boolean {
  return Number.isInteger(value) && value >= low && value <= high;
}

/** Runs one call and says in a sentence what failed. */
function apply(doing: string, hints: Hints, call: () => void): void {
  try {
    call();
  } catch (error) {
    throw transportError(doing, error, hints);
  }
}

export function bindToInterface(fd: number, name: string): void {
  const hints: Hints = {
    PERMISSION: 'this needs the capability CAP_NET_RAW',
    OTHER: 'there is no such interface',
  };
  apply(`cannot bind to interface ${name}`, hints, () =>
    setOption(fd, SO_BINDTODEVICE, Buffer.from(`${name}\0`)),
  );
}

/**
 * Sets, replaces or (undefined) removes the key for one neighbour, or for a range of them. On a listening socket the kernel
 * then answers no SYN from there without a right signature, and accepted sockets inherit the key.
 */
export function setMd5Key(
  socket: { fd: number; family: Family },
  remote: Prefix,
  password: string | undefined,
): void {
  const isRange = remote.length < maxPrefixLength(remote.family);
  const value = new Uint8Array(md5Layout.size);
  const key = new TextEncoder().encode(password ?? '');
  value.set(socketAddress(socket.family, { address: remote, port: 0 }));
  new DataView(value.buffer).setUint16(md5Layout.keyLength, key.length, isLittleEndian);
  if (isRange) {
    value[md5Layout.flags] = TCP_MD5SIG_FLAG_PREFIX;
    value[md5Layout.prefixLength] = remote.length;
  }
  value.set(key, md5Layout.key);
  key.fill(0);
  const hints: Hints = {
    PERMISSION: 'this needs the capability CAP_NET_ADMIN',
    UNSUPPORTED: 'this kernel was built without CONFIG_TCP_MD5SIG',
  };
  try {
    setOption(socket.fd, isRange ? TCP_MD5SIG_EXT : TCP_MD5SIG, value);
  } catch (error) {
    const code = error instanceof SystemCallError ? error.code : '';
    // no key to remove: what was wanted
    if (password === undefined && code === 'ENOENT') return;
    const full = 'the kernel has no room for more keys on this socket (sysctl net.core.optmem_max)';
    const doing = 'cannot set a TCP-MD5 key';
    throw transportError(doing, error, code === 'ENOMEM' ? { OTHER: full } : hints);
  } finally {
    value.fill(0);
  }
}

/**
 * TTL, GTSM and user timeout, on a socket before it connects or right after it was accepted. `family` is that of the
 * packets, not of the socket.
 */
export function setPathOptions(fd: number, family: Family, options: SocketOptions): void {
  const { ttl, userTimeoutMs } = options;
  if (ttl !== undefined) setSendTtl(fd, family, ttl.kind === 'gtsm' ? maximumTtl : ttl.hops);
  if (ttl?.kind === 'gtsm') {
    const hints: Hints = { UNSUPPORTED: 'this kernel cannot check the TTL of TCP packets' };
    apply('cannot turn on GTSM', hints, () =>
      setOption(fd, ttlOptions[family].minimum, int32(minimumTtl(ttl.hops))),
    );
  }
  if (userTimeoutMs !== undefined) {
    apply('cannot set the user timeout', {}, () =>
      setOption(fd, TCP_USER_TIMEOUT, int32(userTimeoutMs)),
    );
  }
}

/** RFC 5082 §3: what arrives with less has passed more routers than it may. */
export function minimumTtl(hops: number): number {
  return maximumTtl - hops + 1;
}

function setSendTtl(fd: number, family: Family, ttl: number): void {
  apply(`cannot send with TTL ${ttl}`, {}, () =>
    setOption(fd, ttlOptions[family].send, int32(ttl)),
  );
}

/**
 * A neighbour with GTSM drops our SYN-ACK unless it carries TTL 255, and only the listening socket decides that. Other
 * neighbours get it too; `restoreTtl` gives their connections the usual value back.
 */
export function answerWithMaximumTtl(fd: number, families: readonly Family[]): void {
  for (const family of families) setSendTtl(fd, family, maximumTtl);
}

export function restoreTtl(fd: number, family: Family): void {
  setSendTtl(fd, family, kernelDefaultTtl);
}

/**
 * The TTL of the packet that completed the handshake of an accepted socket; undefined where the kernel does not say.
 * Linux keeps it with the new socket (`IP_PKTOPTIONS`, and RFC 2292's `IPV6_PKTOPTIONS`) and shows it once receiving the TTL is on.
 */
export function handshakeTtl(fd: number, family: Family): number | undefined {
  const { receive, last } = ttlOptions[family];
  try {
    setOption(fd, receive, int32(1));
    const answer = getOption(fd, last, 256);
    setOption(fd, receive, int32(0));
    return controlMessageValue(answer);
  } catch (error) {
    if (error instanceof SystemCallError) return undefined;
    throw error;
  }
}

/** struct cmsghdr on a 64-bit machine: length (8), level (4), type (4), then here one int */
function controlMessageValue(bytes: Uint8Array): number | undefined {
  if (bytes.length < 20) return undefined;
  return new DataView(bytes.buffer, bytes.byteOffset).getInt32(16, isLittleEndian);
}
