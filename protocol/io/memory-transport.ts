/**
 * A network in memory: hosts with addresses, each a `Transport`, with latency, bounded windows and faults. It is part of
 * the library because whoever builds on the speaker needs to test with it; it passes the same suite as the real one.
 *
 * Faults: reset connections, freeze a direction (silence: nothing arrives, nothing is lost), refuse or swallow dials,
 * split and merge chunks by a seeded Random. TCP-MD5 is played by comparing the two passwords: a dial with the wrong one
 * gets no answer, as on a real wire. TTL, user timeout, keepalive and interfaces have no meaning here.
 *
 * Time is the given Clock alone: with a manual one a test decides every step, and the same seed gives the same run.
 */

import {
  type Address,
  addressEquals,
  addressKey,
  isUnspecified,
  type Prefix,
} from '../net/address.ts';
import { AcceptRules } from './accept-rules.ts';
import type { Clock } from './clock.ts';
import { formatEndpoint } from './endpoint.ts';
import { MemoryConnection } from './memory-connection.ts';
import { MemoryPipe } from './memory-pipe.ts';
import type { Random } from './random.ts';
import {
  type AcceptHandler,
  type Connection,
  type ConnectionHandlers,
  type DialOptions,
  type Endpoint,
  type Listener,
  type ListenOptions,
  type SocketOptions,
  type Transport,
  TransportError,
  type TransportErrorCode,
} from './transport.ts';

export interface MemoryNetworkOptions {
  readonly clock: Clock;
  /** splits and merges chunks on the way; without it they arrive as they were written */
  readonly random?: Random;
  /** one way; default 0 */
  readonly latencyMs?: number;
  /** bytes that one direction takes before its reader has read any; default 64 KB */
  readonly windowBytes?: number;
  /** queued bytes from which on `write` says false; default 64 KB */
  readonly highWaterBytes?: number;
  /** default 10 s */
  readonly closeTimeoutMs?: number;
}

export type DialFault = 'refuse' | 'black-hole';

interface Pair {
  readonly dialled: MemoryConnection;
  readonly accepted: MemoryConnection;
  readonly pipes: readonly MemoryPipe[];
}

const defaultBytes = 65_536;
const defaultCloseTimeoutMs = 10_000;
const firstEphemeralPort = 49_152;

/**
 * A network in memory, whose hosts are transports.
 *
 * @example
 * const network = new MemoryNetwork({ clock: nodeClock, latencyMs: 5 });
 * const transport = network.host(ipv4('192.0.2.1'));
 * network.freeze(ipv4('192.0.2.1'), ipv4('192.0.2.2'));
 */
export class MemoryNetwork {
  readonly clock: Clock;
  readonly #options: MemoryNetworkOptions;
  readonly #hosts: MemoryHost[] = [];
  readonly #pairs = new Set<Pair>();
  readonly #frozen = new Set<string>();
  readonly #dialFaults = new Map<string, DialFault>();

  constructor(options: MemoryNetworkOptions) {
    this.clock = options.clock;
    this.#options = options;
  }

  /** A machine on this network. Its transport dials from, and listens on, these addresses. */
  host(...addresses: readonly Address[]): Transport {
    const host = new MemoryHost(this, addresses);
    this.#hosts.push(host);
    return host;
  }

  /** connections of which at least one end is not closed */
  get connectionCount(): number {
    return this.#pairs.size;
  }

  /** From now on nothing from `from` arrives at `to`; the other direction is free, but its acknowledgements are not. */
  freeze(from: Address, to: Address): void {
    this.#frozen.add(direction(from, to));
  }

  thaw(from: Address, to: Address): void {
    this.#frozen.delete(direction(from, to));
    for (const pair of this.#pairs) for (const pipe of pair.pipes) pipe.wake();
  }

  /** What becomes of dials to this address; undefined lifts it. Connections that stand are not touched. */
  setDialFault(to: Address, fault: DialFault | undefined): void {
    if (fault === undefined) this.#dialFaults.delete(addressKey(to));
    else this.#dialFaults.set(addressKey(to), fault);
  }

  /** Both ends of every connection between the two addresses see a reset, at once. Returns how many there were. */
  resetConnections(a: Address, b: Address): number {
    const hit = [...this.#pairs].filter(({ dialled }) => isBetween(dialled, a, b));
    for (const { dialled, accepted, pipes } of hit) {
      for (const pipe of pipes) pipe.destroy();
      for (const end of [dialled, accepted]) this.clock.startTimer(0, () => end.onReset());
    }
    return hit.length;
  }

  isFrozen(from: Address, to: Address): boolean {
    return this.#frozen.has(direction(from, to));
  }

  createEnd(ends: { local: Endpoint; remote: Endpoint; isAccepted: boolean }): MemoryConnection {
    return new MemoryConnection({
      ...ends,
      clock: this.clock,
      highWaterBytes: this.#options.highWaterBytes ?? defaultBytes,
      closeTimeoutMs: this.#options.closeTimeoutMs ?? defaultCloseTimeoutMs,
    });
  }

  /** The SYN travels; what answers depends on what is there when it arrives. */
  connect(dialled: MemoryConnection, options: DialOptions): void {
    const latencyMs = this.#options.latencyMs ?? 0;
    const { local, remote } = dialled;
    this.clock.startTimer(latencyMs, () => {
      if (!dialled.isConnecting || this.isFrozen(local.address, remote.address)) return;
      const fault = this.#dialFaults.get(addressKey(remote.address));
      if (fault === 'black-hole') return;
      const host = this.#hosts.find((candidate) => candidate.has(remote.address));
      const listener = fault === 'refuse' ? undefined : host?.listenerFor(remote);
      if (listener === undefined) {
        const code = host === undefined ? 'UNREACHABLE' : 'REFUSED';
        this.#answerNo(dialled, code, latencyMs);
      } else if (listener.accepts(local.address, options.password)) {
        this.#pair(dialled, listener);
      }
    });
  }

  #answerNo(dialled: MemoryConnection, code: TransportErrorCode, latencyMs: number): void {
    const { local, remote } = dialled;
    const why = code === 'REFUSED' ? 'connection refused' : 'no such host';
    const message = `cannot connect to ${formatEndpoint(remote)}: ${why}`;
    this.clock.startTimer(latencyMs, () => {
      if (!dialled.isConnecting || this.isFrozen(remote.address, local.address)) return;
      dialled.fail(new TransportError(code, message));
    });
  }

  #pair(dialled: MemoryConnection, listener: MemoryListener): void {
    let open = 2;
    const onGone = () => {
      open -= 1;
      if (open === 0) this.#pairs.delete(pair);
    };
    const accepted = this.createEnd({
      local: dialled.remote,
      remote: dialled.local,
      isAccepted: true,
    });
    const forward = this.#pipe(dialled, accepted);
    const back = this.#pipe(accepted, dialled);
    const pair: Pair = { dialled, accepted, pipes: [forward, back] };
    this.#pairs.add(pair);
    dialled.join({ out: forward, in: back, onGone });
    accepted.join({ out: back, in: forward, onGone });
    back.open();
    const handlers = listener.onAccept(accepted);
    if (handlers === undefined) accepted.abort();
    else accepted.attach(handlers);
  }

  #pipe(from: MemoryConnection, to: MemoryConnection): MemoryPipe {
    const [a, b] = [from.local.address, to.local.address];
    return new MemoryPipe(
      {
        clock: this.clock,
        latencyMs: this.#options.latencyMs ?? 0,
        windowBytes: this.#options.windowBytes ?? defaultBytes,
        random: this.#options.random,
        isFrozen: () => this.isFrozen(a, b),
        isReturnFrozen: () => this.isFrozen(b, a),
      },
      to,
      from,
    );
  }
}

function direction(from: Address, to: Address): string {
  return `${addressKey(from)}>${addressKey(to)}`;
}

function isBetween({ local, remote }: Connection, a: Address, b: Address): boolean {
  const is = (x: Address, y: Address) =>
    addressEquals(local.address, x) && addressEquals(remote.address, y);
  return is(a, b) || is(b, a);
}

class MemoryHost implements Transport {
  readonly #network: MemoryNetwork;
  readonly #addresses: readonly Address[];
  readonly #listeners = new Set<MemoryListener>();
  #nextPort = firstEphemeralPort;

  constructor(network: MemoryNetwork, addresses: readonly Address[]) {
    this.#network = network;
    this.#addresses = addresses;
  }

  has(address: Address): boolean {
    return this.#addresses.some((own) => addressEquals(own, address));
  }

  /** the listener on exactly this address before the one on all */
  listenerFor({ address, port }: Endpoint): MemoryListener | undefined {
    const candidates = [...this.#listeners].filter((listener) => listener.local.port === port);
    const exact = candidates.find((listener) => addressEquals(listener.local.address, address));
    return exact ?? candidates.find((listener) => listener.isForAll);
  }

  dial(options: DialOptions, handlers: ConnectionHandlers): Connection {
    const { remote, localAddress } = options;
    const address =
      localAddress ?? this.#addresses.find((own) => own.family === remote.address.family);
    const connection = this.#network.createEnd({
      local: { address: address ?? remote.address, port: this.#ephemeralPort() },
      remote,
      isAccepted: false,
    });
    connection.attach(handlers);
    if (address === undefined || !this.has(address)) {
      const doing = `cannot connect to ${formatEndpoint(remote)}`;
      const code = address === undefined ? 'UNREACHABLE' : 'ADDRESS_NOT_AVAILABLE';
      const why = 'this host has no such local address';
      this.#network.clock.startTimer(0, () =>
        connection.fail(new TransportError(code, `${doing}: ${why}`)),
      );
      return connection;
    }
    connection.limitConnectTime(options.connectTimeoutMs);
    this.#network.connect(connection, options);
    return connection;
  }

  async listen(options: ListenOptions, onAccept: AcceptHandler): Promise<Listener> {
    const { address } = options;
    const isForAll = address === undefined || isUnspecified(address);
    const port = options.port === 0 ? this.#ephemeralPort() : options.port;
    const local = { address: address ?? { family: 'ipv6', w0: 0, w1: 0, w2: 0, w3: 0 }, port };
    const doing = `cannot listen on ${formatEndpoint(local)}`;
    if (!isForAll && !this.has(local.address))
      throw new TransportError('ADDRESS_NOT_AVAILABLE', `${doing}: this host has no such address`);
    const clash = [...this.#listeners].find(
      (other) =>
        other.local.port === port &&
        (isForAll || other.isForAll || addressEquals(other.local.address, local.address)),
    );
    if (clash !== undefined) {
      const why = 'address and port are in use by another listener';
      throw new TransportError('ADDRESS_IN_USE', `${doing}: ${why}`);
    }
    const listener = new MemoryListener({
      local,
      isForAll,
      onAccept,
      onClose: () => this.#listeners.delete(listener),
    });
    this.#listeners.add(listener);
    return listener;
  }

  #ephemeralPort(): number {
    this.#nextPort = this.#nextPort === 65_535 ? firstEphemeralPort : this.#nextPort + 1;
    return this.#nextPort;
  }
}

interface MemoryListenerOptions {
  readonly local: Endpoint;
  readonly isForAll: boolean;
  readonly onAccept: AcceptHandler;
  readonly onClose: () => void;
}

class MemoryListener implements Listener {
  readonly local: Endpoint;
  readonly isForAll: boolean;
  readonly onAccept: AcceptHandler;
  readonly #onClose: () => void;
  readonly #rules = new AcceptRules();

  constructor(options: MemoryListenerOptions) {
    this.local = options.local;
    this.isForAll = options.isForAll;
    this.onAccept = options.onAccept;
    this.#onClose = options.onClose;
  }

  /** a SYN with a wrong key, without one that is asked for, or with one that nobody asked for is never answered */
  accepts(remote: Address, password: string | undefined): boolean {
    return this.#rules.passwordFor(remote) === password;
  }

  setPeerOptions(remote: Address, options: SocketOptions): void {
    this.#rules.setPeer(remote, options);
  }

  clearPeerOptions(remote: Address): void {
    this.#rules.deletePeer(remote);
  }

  setRangeOptions(range: Prefix, options: SocketOptions): void {
    this.#rules.setRange(range, options);
  }

  clearRangeOptions(range: Prefix): void {
    this.#rules.deleteRange(range);
  }

  async close(): Promise<void> {
    this.#onClose();
  }
}
