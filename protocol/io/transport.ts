/**
 * A stream transport as the speaker needs it: dial, accept, write with back-pressure, close politely or at once.
 *
 * node-tcp.ts is the real one (with TCP-MD5, GTSM and source binding), memory-transport.ts an in-memory pair with latency and
 * faults. Both pass test/compliance/transport.ts. Handlers are called from the event loop, never from inside the call
 * that caused them.
 */

import type { Address, Prefix } from '../net/address.ts';

export interface Endpoint {
  readonly address: Address;
  readonly port: number;
  /** interface name: the zone of a link-local address */
  readonly zone?: string;
}

/** What every BGP socket may ask for, whether dialled or accepted. */
export interface SocketOptions {
  /** TCP-MD5 key (RFC 2385), 1 to 80 octets */
  readonly password?: string;
  /**
   * hops that packets may take: `{ kind: 'gtsm', hops: 1 }` sends with TTL 255 and drops what arrives with less than
   * 255 - hops + 1 (RFC 5082); `{ kind: 'hops', hops }` sends with that TTL; default is the kernel's TTL
   */
  readonly ttl?: TtlRule;
  /** TCP_USER_TIMEOUT in milliseconds: cut a connection whose data stays unacknowledged that long */
  readonly userTimeoutMs?: number;
  /** SO_KEEPALIVE with this idle time in seconds */
  readonly keepAliveSeconds?: number;
}

export type TtlRule =
  | { readonly kind: 'gtsm'; readonly hops: number }
  | { readonly kind: 'hops'; readonly hops: number };

export interface DialOptions extends SocketOptions {
  readonly remote: Endpoint;
  readonly localAddress?: Address;
  /** SO_BINDTODEVICE */
  readonly localInterface?: string;
  readonly connectTimeoutMs: number;
}

export interface ListenOptions {
  readonly port: number;
  /** default: all addresses of both families */
  readonly address?: Address;
  /** SO_BINDTODEVICE: only what arrives on this interface */
  readonly interface?: string;
  readonly backlog?: number;
  /**
   * A connection that could not be taken, and why: it came from too far away (GTSM), its options could not be set, the
   * process is out of file descriptors. The listener goes on.
   */
  readonly onError?: (error: TransportError) => void;
}

export interface ConnectionHandlers {
  /** the connection is up (dialled connections only) */
  onOpen(): void;
  /** the bytes belong to the receiver until it returns: copy what is kept */
  onData(bytes: Uint8Array): void;
  /**
   * Some of what was written has left for the kernel. The kernel takes bytes only while the other side drains its
   * window (after the send buffer is full), so a long silence here while `bufferedBytes` is above zero is a neighbour
   * that does not read: the sign that the send hold timer waits for (RFC 9687 §4.3).
   */
  onProgress(): void;
  /** after `write` returned false: there is room again, everything buffered has gone to the kernel */
  onDrain(): void;
  /**
   * Said exactly once, last; `error` says why if it was not a clean close by either side. Our own `abort` is no error.
   * A FIN from the neighbour ends both directions: BGP has no use for a half-open connection.
   */
  onClose(error?: TransportError): void;
}

export interface Connection {
  /** of a dialled connection: the real one from onOpen on, before that what was asked for */
  readonly local: Endpoint;
  readonly remote: Endpoint;
  /**
   * Takes all of `bytes` (and may keep a reference); false = stop writing until onDrain. Before onOpen, after close and
   * after abort it takes nothing and says false.
   */
  write(bytes: Uint8Array): boolean;
  /** hands what was written to the kernel now, not with what this turn of the event loop may still write */
  flush(): void;
  /** bytes taken but not yet given to the kernel */
  readonly bufferedBytes: number;
  /**
   * The kernel has had its acknowledgement for all that it was given: the other side's kernel has it. False while a path loses what is sent. True
   * where the system does not tell. Nobody is told of the change: ask again. After `close`, and after `onClose`, it is about
   * what was written before, not about our FIN.
   */
  readonly isAcknowledged: boolean;
  /**
   * Flush, then FIN; onClose follows, within a bound even if the neighbour does neither read nor answer. From here on
   * the only thing said is onClose.
   */
  close(): void;
  /** drop what is buffered and cut (RST); from here on the only thing said is onClose */
  abort(): void;
  /** stop and go on reading: back-pressure on the other side */
  pauseReading(): void;
  resumeReading(): void;
}

export interface Listener {
  readonly local: Endpoint;
  /**
   * What connections from this address must satisfy, from the next one on; those that stand keep what they have. MD5
   * keys are set on the listening socket per remote address, so a SYN without the key is never answered. Throws a
   * TransportError when an option cannot be had.
   */
  setPeerOptions(remote: Address, options: SocketOptions): void;
  clearPeerOptions(remote: Address): void;
  /**
   * The same for every address of a range that has no options of its own; the longest range wins. A key of the range is also
   * asked of those inside it that have options without a key: the kernel knows no exception.
   */
  setRangeOptions(range: Prefix, options: SocketOptions): void;
  clearRangeOptions(range: Prefix): void;
  /** stops listening; connections that were accepted stay */
  close(): Promise<void>;
}

/** A neighbour's connection was accepted: return its handlers, or undefined to refuse it (it is reset). */
export type AcceptHandler = (connection: Connection) => ConnectionHandlers | undefined;

export interface Transport {
  /** returns at once; onOpen or onClose follows */
  dial(options: DialOptions, handlers: ConnectionHandlers): Connection;
  /** rejects with a TransportError, e.g. code `ADDRESS_IN_USE` */
  listen(options: ListenOptions, onAccept: AcceptHandler): Promise<Listener>;
}

export type TransportErrorCode =
  | 'REFUSED'
  | 'TIMEOUT'
  | 'RESET'
  | 'UNREACHABLE'
  | 'ADDRESS_IN_USE'
  | 'ADDRESS_NOT_AVAILABLE'
  | 'PERMISSION'
  | 'UNSUPPORTED'
  | 'INVALID_OPTION'
  | 'CLOSED'
  | 'OTHER';

/**
 * What went wrong with a socket: a stable code for programs, a sentence for people, the system's error as the cause.
 *
 * @example
 * if (error instanceof TransportError && error.code === 'ADDRESS_IN_USE') retryLater();
 */
export class TransportError extends Error {
  readonly code: TransportErrorCode;

  constructor(code: TransportErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'TransportError';
    this.code = code;
  }
}
