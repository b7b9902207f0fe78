/**
 * TCP as the kernel has it: `Transport` over node:net.
 *
 * A plain dial is Node's own. One with options that must stand before the SYN leaves (MD5 key, TTL, GTSM, interface)
 * starts from a socket of the C library that is handed to Node once it is set up; until then its descriptor is ours to
 * close. The same goes for a listener that is bound to an interface, since two of them may share a port only if the
 * interface is known at bind().
 */

import { createServer, type Server, Socket } from 'node:net';
import { type Address, type Family, hostPrefix, isLinkLocal } from '../net/address.ts';
import { formatEndpoint, formatHost, parseEndpoint } from './endpoint.ts';
import {
  bindSocket,
  closeDescriptor,
  int32,
  interfaceIndex,
  openTcpSocket,
  requireLibc,
  setOption,
  socketAddress,
} from './libc.ts';
import { NodeConnection, unknownLocal } from './node-connection.ts';
import { NodeListener } from './node-listener.ts';
import { ReadTurns } from './read-turns.ts';
import { systemErrorCode, transportError } from './system-error.ts';
import {
  bindToInterface,
  needSystemCalls,
  setMd5Key,
  setPathOptions,
  validateDialOptions,
} from './tcp-options.ts';
import type {
  AcceptHandler,
  Connection,
  ConnectionHandlers,
  DialOptions,
  Endpoint,
  Listener,
  ListenOptions,
  Transport,
  TransportErrorCode,
} from './transport.ts';

const SO_REUSEADDR = [1, 2] as const;
const IPV6_V6ONLY = [41, 26] as const;

export interface NodeTcpOptions {
  /** how long `close` waits for a neighbour that does not read or does not answer the FIN; 10 s */
  readonly closeTimeoutMs?: number;
}

const defaultCloseTimeoutMs = 10_000;
const defaultBacklog = 128;

/**
 * Real TCP.
 *
 * @example
 * const transport = new NodeTcpTransport();
 * const listener = await transport.listen({ port: 179 }, (connection) => handlersFor(connection));
 */
export class NodeTcpTransport implements Transport {
  readonly #closeTimeoutMs: number;
  readonly #turns = new ReadTurns();

  constructor(options: NodeTcpOptions = {}) {
    this.#closeTimeoutMs = options.closeTimeoutMs ?? defaultCloseTimeoutMs;
  }

  dial(options: DialOptions, handlers: ConnectionHandlers): Connection {
    const { remote, localAddress } = options;
    const closeTimeoutMs = this.#closeTimeoutMs;
    const local: Endpoint =
      localAddress === undefined
        ? unknownLocal(remote.address.family)
        : { address: localAddress, port: 0 };
    const made = makeSocket(options);
    const connection = new NodeConnection({
      socket: made.socket,
      local,
      remote,
      isAccepted: false,
      closeTimeoutMs,
      turns: this.#turns,
    });
    connection.attach(handlers);
    if (!made.ok) {
      connection.fail(transportError(`cannot connect to ${formatEndpoint(remote)}`, made.error));
      return connection;
    }
    made.socket.setNoDelay(true);
    if (options.keepAliveSeconds !== undefined)
      made.socket.setKeepAlive(true, options.keepAliveSeconds * 1000);
    connection.limitConnectTime(options.connectTimeoutMs);
    const zone = remote.zone ?? options.localInterface;
    made.socket.connect({
      host: formatHost(remote.address, zone),
      port: remote.port,
      ...(localAddress === undefined ? {} : { localAddress: formatHost(localAddress, zone) }),
    });
    return connection;
  }

  async listen(options: ListenOptions, onAccept: AcceptHandler): Promise<Listener> {
    const server = createServer({ pauseOnConnect: true });
    const { local, families } = await bind(server, options);
    return new NodeListener({
      server,
      local,
      families,
      onAccept,
      onError: options.onError ?? (() => undefined),
      closeTimeoutMs: this.#closeTimeoutMs,
      turns: this.#turns,
    });
  }
}

type MadeSocket =
  | { readonly ok: true; readonly socket: Socket }
  | { readonly ok: false; readonly socket: Socket; readonly error: unknown };

/** A failure is kept beside a socket that was never used, so that it takes the same way out as any other: onClose. */
function makeSocket(options: DialOptions): MadeSocket {
  try {
    validateDialOptions(options);
    if (!needSystemCalls(options) && options.localInterface === undefined)
      return { ok: true, socket: new Socket() };
    const { family } = options.remote.address;
    const socket = withDescriptor(family, (fd) => {
      if (options.localInterface !== undefined) bindToInterface(fd, options.localInterface);
      if (options.password !== undefined)
        setMd5Key({ fd, family }, hostPrefix(options.remote.address), options.password);
      setPathOptions(fd, family, options);
      return new Socket({ fd });
    });
    return { ok: true, socket };
  } catch (error) {
    return { ok: false, socket: new Socket(), error };
  }
}

/** `use` takes the descriptor over when it returns; when it throws, the descriptor is closed here. */
function withDescriptor<T>(family: Family, use: (fd: number) => T): T {
  requireLibc();
  const fd = openTcpSocket(family);
  try {
    return use(fd);
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
}

interface Bound {
  readonly local: Endpoint;
  readonly families: readonly Family[];
}

async function bind(server: Server, options: ListenOptions): Promise<Bound> {
  const { address } = options;
  if (address !== undefined) {
    await listenOn(server, options, address);
    return { local: boundTo(server, options, address), families: [address.family] };
  }
  const any6 = unknownLocal('ipv6').address;
  try {
    await listenOn(server, options, any6);
    return { local: boundTo(server, options, any6), families: ['ipv6', 'ipv4'] };
  } catch (error) {
    if (!isWithoutIpv6(error)) throw error;
    const any4 = unknownLocal('ipv4').address;
    await listenOn(server, options, any4);
    return { local: boundTo(server, options, any4), families: ['ipv4'] };
  }
}

/** IPv6 is not in the kernel, or turned off: IPv4 alone is then all addresses there are. */
function isWithoutIpv6(error: unknown): boolean {
  const name = error instanceof Error ? systemErrorCode(error.cause) : undefined;
  return name === 'EAFNOSUPPORT' || name === 'EADDRNOTAVAIL';
}

function listenOn(server: Server, options: ListenOptions, address: Address): Promise<void> {
  const { port, backlog = defaultBacklog } = options;
  const zone = options.interface;
  const endpoint = { address, port, ...(zone === undefined ? {} : { zone }) };
  const isDual = options.address === undefined;
  const failed = (error: unknown) =>
    transportError(`cannot listen on ${formatEndpoint(endpoint)}`, error, listenHints(port));
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => reject(failed(error));
    server.once('error', onError);
    server.once('listening', () => {
      server.off('error', onError);
      resolve();
    });
    try {
      if (zone === undefined) {
        const host = formatHost(address, undefined);
        server.listen({ host, port, backlog, ipv6Only: !isDual, exclusive: true });
      } else {
        server.listen({ fd: boundDescriptor(endpoint, zone, isDual), backlog, exclusive: true });
      }
    } catch (error) {
      server.off('error', onError);
      reject(failed(error));
    }
  });
}

function listenHints(port: number): Partial<Record<TransportErrorCode, string>> {
  const capability = `port ${port} needs the capability CAP_NET_BIND_SERVICE (or root)`;
  return port > 0 && port < 1024 ? { PERMISSION: capability } : {};
}

function boundDescriptor(endpoint: Endpoint, interfaceName: string, isDual: boolean): number {
  const { address, port } = endpoint;
  const { family } = address;
  return withDescriptor(family, (fd) => {
    bindToInterface(fd, interfaceName);
    setOption(fd, SO_REUSEADDR, int32(1));
    if (family === 'ipv6') setOption(fd, IPV6_V6ONLY, int32(isDual ? 0 : 1));
    const scope = isLinkLocal(address) ? interfaceIndex(interfaceName) : 0;
    bindSocket(fd, socketAddress(family, { address, port, scope }));
    return fd;
  });
}

function boundTo(server: Server, options: ListenOptions, asked: Address): Endpoint {
  const actual = server.address();
  const zone = options.interface;
  const port = actual !== null && typeof actual === 'object' ? actual.port : options.port;
  const found =
    actual !== null && typeof actual === 'object'
      ? parseEndpoint(actual.address, port)?.address
      : undefined;
  return { address: found ?? asked, port, ...(zone === undefined ? {} : { zone }) };
}
