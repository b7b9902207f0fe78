/**
 * One TCP connection of a neighbour with its framing: bytes in, messages out; messages in, bytes out. It decides
 * nothing: what it reads goes to the session machine, what it is told to write it writes.
 */

import { decode, PLAIN_CONTEXT } from '../bgp/decode.ts';
import { encode } from '../bgp/encode.ts';
import type { BgpFault, Issue } from '../bgp/error.ts';
import { Framer } from '../bgp/framer.ts';
import type { Message } from '../bgp/message.ts';
import type { CodecContext } from '../bgp/negotiate.ts';
import type { Connection, ConnectionHandlers, TransportError } from '../io/transport.ts';

export interface WireHandlers {
  onConnected(): void;
  onMessage(message: Message, issues: readonly Issue[]): void;
  onFault(fault: BgpFault): void;
  onProgress(): void;
  /** all that was written has gone to the kernel */
  onDrain(): void;
  onDisconnected(error: TransportError | undefined): void;
}

export class Wire implements ConnectionHandlers {
  readonly #handlers: WireHandlers;
  readonly #framer = new Framer();
  #connection: Connection | undefined;
  #context: CodecContext = PLAIN_CONTEXT;
  /** set when nothing more is read: after a fault, a close or an abort */
  #deaf = false;
  bytesReceived = 0;
  bytesSent = 0;
  messagesReceived = 0;
  messagesSent = 0;

  constructor(handlers: WireHandlers) {
    this.#handlers = handlers;
  }

  attach(connection: Connection): void {
    this.#connection = connection;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** from here on messages are read and written as the two OPENs agreed */
  negotiated(context: CodecContext): void {
    this.#context = context;
    this.#framer.setExtended(context.extendedMessage);
  }

  send(message: Message): void {
    this.messagesSent += 1;
    this.write(encode(message, this.#context));
    // the last word of a connection leaves also where the process ends this very moment
    if (message.kind === 'notification') this.#connection?.flush();
  }

  /** finished messages; false = no more until onDrain */
  write(bytes: Uint8Array): boolean {
    this.bytesSent += bytes.length;
    return this.#connection?.write(bytes) ?? false;
  }

  close(): void {
    this.#deaf = true;
    this.#connection?.close();
  }

  abort(): void {
    this.#deaf = true;
    this.#connection?.abort();
  }

  onOpen(): void {
    this.#handlers.onConnected();
  }

  onData(bytes: Uint8Array): void {
    this.bytesReceived += bytes.length;
    if (this.#deaf) return;
    this.#framer.push(bytes);
    // a handler may close this wire, so the flag is looked at before each frame
    while (!this.#deaf && this.#readOne());
  }

  onProgress(): void {
    this.#handlers.onProgress();
  }

  onDrain(): void {
    this.#handlers.onDrain();
  }

  onClose(error?: TransportError): void {
    this.#deaf = true;
    this.#handlers.onDisconnected(error);
  }

  #readOne(): boolean {
    const next = this.#framer.next();
    if (next.kind === 'incomplete') return false;
    this.messagesReceived += 1;
    if (next.kind === 'fault') {
      this.#fail(next.fault);
      return false;
    }
    const result = decode(next.frame, this.#context);
    if (result.ok) this.#handlers.onMessage(result.message, result.issues);
    else if (result.fault.outcome === 'reset') this.#fail(result.fault);
    else this.#handlers.onFault(result.fault);
    return true;
  }

  /** the stream cannot be trusted behind a fault that resets, so nothing after it is read */
  #fail(fault: BgpFault): void {
    this.#deaf = true;
    this.#handlers.onFault(fault);
  }
}
