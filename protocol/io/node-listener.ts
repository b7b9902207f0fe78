/**
 * A listening TCP socket with what each neighbour must satisfy: MD5 keys (in the kernel, per remote address or range), GTSM, TTL,
 * user timeout (on each accepted socket, before its first byte is read).
 *
 * GTSM on the accepting side (RFC 5082). A listening socket has one minimum TTL for everybody, so it cannot ask 255 of
 * some neighbours only. What is done instead: SYN-ACKs leave with TTL 255; the accepted socket gets the minimum at
 * once; and the TTL of the packet that completed the handshake, which the kernel remembers, is checked before anybody
 * hears of the connection. Left open: a SYN from far away that carries a neighbour's address is still answered (as on any
 * listening port), and what it queued between its handshake and our check is dropped together with the connection.
 *
 * MD5 keys set while connections wait to be accepted: the key is set on the accepted socket once more, so a
 * connection whose handshake was unsigned cannot say a word.
 */

import type { Server, Socket } from 'node:net';
import {
  type Address,
  type Family,
  hostPrefix,
  maxPrefixLength,
  type Prefix,
  prefixAddress,
} from '../net/address.ts';
import { AcceptRules } from './accept-rules.ts';
import { formatEndpoint, parseEndpoint } from './endpoint.ts';
import { fileDescriptor } from './file-descriptor.ts';
import { NodeConnection } from './node-connection.ts';
import type { ReadTurns } from './read-turns.ts';
import { transportError } from './system-error.ts';
import {
  answerWithMaximumTtl,
  handshakeTtl,
  minimumTtl,
  needSystemCalls,
  restoreTtl,
  setMd5Key,
  setPathOptions,
  validateSocketOptions,
} from './tcp-options.ts';
import {
  type AcceptHandler,
  type Endpoint,
  type Listener,
  type SocketOptions,
  TransportError,
} from './transport.ts';

export interface NodeListenerOptions {
  readonly server: Server;
  readonly local: Endpoint;
  /** families that can arrive: both on a dual-stack socket */
  readonly families: readonly Family[];
  readonly onAccept: AcceptHandler;
  readonly onError: (error: TransportError) => void;
  readonly closeTimeoutMs: number;
  readonly turns: ReadTurns;
}

export class NodeListener implements Listener {
  readonly local: Endpoint;
  readonly #options: NodeListenerOptions;
  readonly #rules = new AcceptRules();
  #answersWithMaximumTtl = false;
  #isClosed = false;

  constructor(options: NodeListenerOptions) {
    this.local = options.local;
    this.#options = options;
    options.server.on('connection', (socket: Socket) => this.#accept(socket));
    options.server.on('error', (error) =>
      options.onError(transportError(`cannot accept on ${formatEndpoint(this.local)}`, error)),
    );
  }

  setPeerOptions(remote: Address, options: SocketOptions): void {
    const host = hostPrefix(remote);
    this.#validate(host, options);
    this.#setKey(host, this.#keyOf(host), options.password ?? this.#rules.range(host)?.password);
    this.#rules.setPeer(remote, options);
  }

  clearPeerOptions(remote: Address): void {
    const host = hostPrefix(remote);
    this.#setKey(host, this.#keyOf(host), this.#rules.range(host)?.password);
    this.#rules.deletePeer(remote);
  }

  setRangeOptions(range: Prefix, options: SocketOptions): void {
    this.#validate(range, options);
    this.#setKey(range, this.#keyOf(range), this.#hostKey(range) ?? options.password);
    this.#rules.setRange(range, options);
  }

  clearRangeOptions(range: Prefix): void {
    this.#setKey(range, this.#keyOf(range), this.#hostKey(range));
    this.#rules.deleteRange(range);
  }

  #validate(remote: Prefix, options: SocketOptions): void {
    if (this.#isClosed) throw new TransportError('CLOSED', 'the listener is closed');
    validateSocketOptions(options);
    if (options.ttl?.kind !== 'gtsm' || this.#answersWithMaximumTtl) return;
    if (!this.#options.families.includes(remote.family)) return;
    answerWithMaximumTtl(this.#descriptor().fd, this.#options.families);
    this.#answersWithMaximumTtl = true;
  }

  /** the key that the kernel has for exactly this: a range of one address shares it with the neighbour there, who goes first */
  #keyOf(remote: Prefix): string | undefined {
    return this.#hostKey(remote) ?? this.#rules.range(remote)?.password;
  }

  #hostKey(remote: Prefix): string | undefined {
    const isHost = remote.length === maxPrefixLength(remote.family);
    return isHost ? this.#rules.peer(prefixAddress(remote))?.password : undefined;
  }

  #setKey(remote: Prefix, before: string | undefined, after: string | undefined): void {
    // From a family that this socket does not have nobody can come.
    if (this.#isClosed || !this.#options.families.includes(remote.family)) return;
    if (before !== undefined || after !== undefined) setMd5Key(this.#descriptor(), remote, after);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rules.clear();
    // The descriptor is gone when this returns. Its callback would wait for the accepted connections too.
    this.#options.server.close();
  }

  #descriptor(): { fd: number; family: Family } {
    const family = this.#options.families.includes('ipv6') ? 'ipv6' : 'ipv4';
    return { fd: fileDescriptor(this.#options.server), family };
  }

  #accept(socket: Socket): void {
    const remote = parseEndpoint(socket.remoteAddress, socket.remotePort);
    const local = parseEndpoint(socket.localAddress, socket.localPort);
    if (remote === undefined || local === undefined) {
      // it was reset before it was accepted
      socket.on('error', () => undefined);
      socket.destroy();
      return;
    }
    const { onAccept, onError, closeTimeoutMs, turns } = this.#options;
    const connection = new NodeConnection({
      socket,
      local,
      remote,
      isAccepted: true,
      closeTimeoutMs,
      turns,
    });
    try {
      this.#prepare(socket, remote);
    } catch (error) {
      connection.abort();
      onError(transportError(`dropped a connection from ${formatEndpoint(remote)}`, error));
      return;
    }
    const handlers = onAccept(connection);
    if (handlers === undefined) connection.abort();
    else connection.attach(handlers);
  }

  #prepare(socket: Socket, remote: Endpoint): void {
    const options = this.#rules.optionsFor(remote.address);
    socket.setNoDelay(true);
    if (options.keepAliveSeconds !== undefined)
      socket.setKeepAlive(true, options.keepAliveSeconds * 1000);
    const { family } = remote.address;
    if (this.#answersWithMaximumTtl && options.ttl === undefined)
      restoreTtl(fileDescriptor(socket), family);
    if (!needSystemCalls(options)) return;
    const fd = fileDescriptor(socket);
    if (options.password !== undefined)
      setMd5Key({ ...this.#descriptor(), fd }, hostPrefix(remote.address), options.password);
    setPathOptions(fd, family, options);
    if (options.ttl?.kind === 'gtsm') checkDistance(fd, remote, minimumTtl(options.ttl.hops));
  }
}

function checkDistance(fd: number, remote: Endpoint, minimum: number): void {
  const seen = handshakeTtl(fd, remote.address.family);
  if (seen === undefined || seen >= minimum) return;
  throw new TransportError(
    'REFUSED',
    `dropped a connection from ${formatEndpoint(remote)}: it arrived with TTL ${seen}, GTSM asks for ${minimum}`,
  );
}
