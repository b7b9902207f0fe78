/**
 * One TCP connection over a node:net socket, dialled or accepted.
 *
 * Writing: what is written within one turn of the event loop goes to the kernel in one `writev`, or as soon as the
 * stream's mark (64 KB) is reached: then `write` says false and the producer waits. So memory on our side is that
 * mark plus one message, whatever the neighbour does. A `write` callback, our `onProgress`, means that the kernel has
 * taken the bytes. The kernel's own send buffer (some MB) comes first: with a neighbour that reads nothing, progress
 * stops when that buffer is full. A trickle of keepalives never fills it; there the hold timer, and TCP_USER_TIMEOUT for
 * a neighbour whose kernel is gone, are the ones to notice.
 *
 * Reading: what has come is handed over in pieces, in turns with the other connections (read-turns.ts); meanwhile the socket
 * is not read, so the neighbour's own window is what holds it back. A close that comes behind such pieces is told behind them.
 *
 * Closing: `close` goes on reading and throws away what comes. If a socket is closed while input waits, Linux sends RST
 * instead of FIN, and the NOTIFICATION that was just written may be lost with it.
 *
 * The fields are private also so that an inspected connection shows nothing of the options it was made with.
 */

import type { Socket } from 'node:net';
import type { Address } from '../net/address.ts';
import { formatEndpoint, parseEndpoint } from './endpoint.ts';
import { hasArrived, isAcknowledged } from './kernel-queue.ts';
import type { PieceReader, ReadTurns } from './read-turns.ts';
import { transportError } from './system-error.ts';
import {
  type Connection,
  type ConnectionHandlers,
  type Endpoint,
  TransportError,
} from './transport.ts';

/** a longer one fires at once */
const LONGEST_DELAY_MS = 2 ** 31 - 1;
/** some milliseconds of the smallest messages */
const PIECE_BYTES = 16 * 1024;

type Phase = 'connecting' | 'open' | 'closing' | 'aborted' | 'closed';

export interface NodeConnectionOptions {
  readonly socket: Socket;
  readonly local: Endpoint;
  readonly remote: Endpoint;
  readonly isAccepted: boolean;
  /** how long `close` may take before the socket is cut */
  readonly closeTimeoutMs: number;
  /** shared with the other connections */
  readonly turns: ReadTurns;
}

export class NodeConnection implements Connection, PieceReader {
  readonly remote: Endpoint;
  readonly #socket: Socket;
  readonly #closeTimeoutMs: number;
  readonly #turns: ReadTurns;
  /** what has come and waits for its turn */
  #unread: Uint8Array[] = [];
  #isPaused = false;
  /** the socket is closed, and that is to be told behind what waits */
  #isCloseWaiting = false;
  readonly #flush = () => this.#uncork();
  readonly #written = (error?: Error | null) => {
    if (error == null && this.#isTalking) this.#handlers?.onProgress();
  };
  #local: Endpoint;
  #handlers: ConnectionHandlers | undefined;
  #phase: Phase;
  #error: TransportError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isCorked = false;
  /** as it was seen last, of a connection that is being closed or is closed */
  #hasArrived = false;

  constructor(options: NodeConnectionOptions) {
    this.#socket = options.socket;
    this.#local = options.local;
    this.remote = options.remote;
    this.#phase = options.isAccepted ? 'open' : 'connecting';
    this.#closeTimeoutMs = options.closeTimeoutMs;
    this.#turns = options.turns;
    // an error without a listener would end the process
    this.#socket.on('error', (error) => this.#noteError(error));
    this.#socket.on('close', () => this.#closed());
  }

  get local(): Endpoint {
    return this.#local;
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  get isAcknowledged(): boolean {
    if (this.#phase === 'connecting') return true;
    const ask = this.#phase === 'open' ? isAcknowledged : hasArrived;
    if (!this.#socket.destroyed) this.#hasArrived = ask(this.#socket);
    return this.#hasArrived;
  }

  get #isTalking(): boolean {
    return this.#phase === 'open';
  }

  /** From here on events are passed on; an accepted socket starts to read. */
  attach(handlers: ConnectionHandlers): void {
    this.#handlers = handlers;
    const socket = this.#socket;
    socket.on('connect', () => this.#connected());
    socket.on('data', (chunk: Buffer) => {
      // A plain Uint8Array: `slice` of a Buffer is a view, and those above rely on a copy.
      const bytes = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
      if (!this.#isTalking) return;
      this.#unread.push(bytes);
      this.#turns.offer(this);
      if (this.#unread.length > 0) socket.pause();
    });
    socket.on('end', () => {
      // the kernel forgets with the socket what has arrived
      this.#hasArrived = this.isAcknowledged;
      socket.destroy();
    });
    socket.on('drain', () => {
      if (this.#isTalking) this.#handlers?.onDrain();
    });
    if (this.#phase === 'open') socket.resume();
  }

  readPiece(): boolean {
    const [first, ...rest] = this.#unread;
    if (first === undefined || this.#isPaused) {
      if (this.#isCloseWaiting) this.#closed();
      return false;
    }
    this.#unread = first.length > PIECE_BYTES ? [first.subarray(PIECE_BYTES), ...rest] : rest;
    this.#handlers?.onData(first.subarray(0, PIECE_BYTES));
    if (this.#unread.length > 0) return true;
    if (this.#isCloseWaiting) this.#closed();
    else if (!this.#isPaused) this.#socket.resume();
    return false;
  }

  /** Nobody wants what waits any more. */
  #dropUnread(): void {
    this.#unread = [];
    // never within the call of whoever dropped it
    if (this.#isCloseWaiting) process.nextTick(() => this.#closed());
  }

  /** The dial fails with TIMEOUT unless it is through within this time. */
  limitConnectTime(connectTimeoutMs: number): void {
    this.#timer = setTimeout(
      () => {
        const doing = `cannot connect to ${formatEndpoint(this.remote)}`;
        this.fail(new TransportError('TIMEOUT', `${doing}: no answer in ${connectTimeoutMs} ms`));
      },
      Math.min(connectTimeoutMs, LONGEST_DELAY_MS),
    );
  }

  /** Ends the connection with this as the reason that `onClose` gives. */
  fail(error: TransportError): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  #connected(): void {
    if (this.#phase !== 'connecting') return;
    clearTimeout(this.#timer);
    this.#phase = 'open';
    const { localAddress, localPort } = this.#socket;
    this.#local = parseEndpoint(localAddress, localPort) ?? this.#local;
    this.#handlers?.onOpen();
  }

  write(bytes: Uint8Array): boolean {
    if (this.#phase !== 'open') return false;
    const socket = this.#socket;
    if (!this.#isCorked) {
      this.#isCorked = true;
      socket.cork();
      process.nextTick(this.#flush);
    }
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const hasRoom = socket.write(view, this.#written);
    if (!hasRoom) this.#uncork();
    return hasRoom;
  }

  flush(): void {
    this.#uncork();
  }

  #uncork(): void {
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.#socket.uncork();
  }

  close(): void {
    if (this.#phase === 'connecting') {
      this.abort();
      return;
    }
    if (this.#phase !== 'open') return;
    this.#phase = 'closing';
    this.#hasArrived = false;
    this.#dropUnread();
    this.#uncork();
    this.#socket.end();
    this.#socket.resume();
    this.#timer = setTimeout(() => this.#socket.destroy(), this.#closeTimeoutMs);
  }

  abort(): void {
    const phase = this.#phase;
    if (phase === 'aborted' || phase === 'closed') return;
    this.#phase = 'aborted';
    this.#dropUnread();
    // A reset is neither possible before the handshake nor after a FIN (SO_LINGER and shutdown exclude each other).
    if (phase === 'open') this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  pauseReading(): void {
    if (this.#phase !== 'open' && this.#phase !== 'connecting') return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#isPaused = false;
    if (this.#unread.length > 0) this.#turns.offer(this);
    else this.#socket.resume();
  }

  #noteError(error: Error): void {
    const remote = formatEndpoint(this.remote);
    // the other side has closed its connection, which is what it does with what was written last
    if (this.#phase === 'closing' && isReset(error)) this.#hasArrived = true;
    const doing =
      this.#phase === 'connecting' ? `cannot connect to ${remote}` : `connection with ${remote}`;
    this.#error ??= transportError(doing, error);
  }

  #closed(): void {
    if (this.#phase === 'closed') return;
    this.#isCloseWaiting = this.#isTalking && this.#unread.length > 0 && !this.#isPaused;
    if (this.#isCloseWaiting) return;
    clearTimeout(this.#timer);
    const wasOurs = this.#phase === 'aborted' || this.#phase === 'closing';
    const error = wasOurs ? undefined : this.#error;
    this.#phase = 'closed';
    this.#handlers?.onClose(error);
    this.#handlers = undefined;
  }
}

function isReset(error: Error): boolean {
  return 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
}

/** What stands in for the local end until the kernel has chosen one. */
export function unknownLocal(family: Address['family']): Endpoint {
  const address: Address =
    family === 'ipv4' ? { family, bits: 0 } : { family, w0: 0, w1: 0, w2: 0, w3: 0 };
  return { address, port: 0 };
}
