/**
 * One end of an in-memory connection. It writes into a pipe and hears from the other one; the rules are those of
 * `Connection`: handlers from timers only, `onClose` once and last, a FIN ends both directions, `close` is bounded.
 */

import type { Clock, Timer } from './clock.ts';
import { formatEndpoint } from './endpoint.ts';
import type { MemoryPipe, PipeReceiver, PipeSender } from './memory-pipe.ts';
import {
  type Connection,
  type ConnectionHandlers,
  type Endpoint,
  TransportError,
} from './transport.ts';

type Phase = 'connecting' | 'open' | 'closing' | 'closed';

export interface MemoryConnectionOptions {
  readonly clock: Clock;
  readonly local: Endpoint;
  readonly remote: Endpoint;
  readonly isAccepted: boolean;
  /** `write` says false from this many queued bytes on */
  readonly highWaterBytes: number;
  readonly closeTimeoutMs: number;
}

/** What an end has once the handshake has reached the other side. */
export interface MemoryWires {
  readonly out: MemoryPipe;
  readonly in: MemoryPipe;
  readonly onGone: () => void;
}

export class MemoryConnection implements Connection, PipeReceiver, PipeSender {
  readonly local: Endpoint;
  readonly remote: Endpoint;
  readonly #options: MemoryConnectionOptions;
  #handlers: ConnectionHandlers | undefined;
  #phase: Phase;
  #wires: MemoryWires | undefined;
  #isPaused = false;
  #needsDrain = false;
  #hasArrived = false;
  #timer: Timer | undefined;

  constructor(options: MemoryConnectionOptions) {
    this.local = options.local;
    this.remote = options.remote;
    this.#options = options;
    this.#phase = options.isAccepted ? 'open' : 'connecting';
  }

  attach(handlers: ConnectionHandlers): void {
    this.#handlers = handlers;
  }

  join(wires: MemoryWires): void {
    this.#wires = wires;
    if (this.#isPaused) wires.in.pause();
  }

  get isConnecting(): boolean {
    return this.#phase === 'connecting';
  }

  get bufferedBytes(): number {
    return this.#wires?.out.queuedBytes ?? 0;
  }

  get isAcknowledged(): boolean {
    return this.#hasArrived || (this.#wires?.out.isAcknowledged ?? true);
  }

  limitConnectTime(connectTimeoutMs: number): void {
    this.#timer = this.#options.clock.startTimer(connectTimeoutMs, () => {
      const doing = `cannot connect to ${formatEndpoint(this.remote)}`;
      this.fail(new TransportError('TIMEOUT', `${doing}: no answer in ${connectTimeoutMs} ms`));
    });
  }

  /** what is written is on its way at once */
  flush(): void {}

  write(bytes: Uint8Array): boolean {
    const out = this.#wires?.out;
    if (this.#phase !== 'open' || out === undefined) return false;
    out.write(bytes);
    const hasRoom = out.queuedBytes < this.#options.highWaterBytes;
    if (!hasRoom) this.#needsDrain = true;
    return hasRoom;
  }

  close(): void {
    if (this.#phase === 'connecting') {
      this.abort();
      return;
    }
    if (this.#phase !== 'open') return;
    this.#phase = 'closing';
    this.#wires?.out.end();
    // what still comes is read and thrown away
    this.#wires?.in.resume();
    this.#timer = this.#options.clock.startTimer(this.#options.closeTimeoutMs, () => {
      this.#wires?.out.reset();
      this.fail();
    });
  }

  abort(): void {
    if (this.#phase === 'closed') return;
    this.#wires?.out.reset();
    this.#end();
    this.#sayClosed();
  }

  pauseReading(): void {
    if (this.#phase === 'closing' || this.#phase === 'closed') return;
    this.#isPaused = true;
    this.#wires?.in.pause();
  }

  resumeReading(): void {
    this.#isPaused = false;
    this.#wires?.in.resume();
  }

  /** ends this side now, from inside a timer; the other side is not told */
  fail(error?: TransportError): void {
    if (this.#phase === 'closed') return;
    this.#end();
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.onClose(error);
  }

  onOpenArrived(): void {
    if (this.#phase !== 'connecting') return;
    this.#timer?.cancel();
    this.#phase = 'open';
    this.#handlers?.onOpen();
  }

  onBytes(bytes: Uint8Array): void {
    // what arrives where nobody is any more is answered by a reset
    if (this.#phase === 'closed') this.#wires?.out.reset();
    if (this.#phase === 'open') this.#handlers?.onData(bytes);
  }

  onFin(): void {
    if (this.#phase === 'closed') return;
    // Our own FIN, if it has not gone yet; what is still queued is dropped, as by a kernel whose socket is closed.
    if (this.#phase === 'open') {
      this.#wires?.out.dropQueue();
      this.#wires?.out.end();
    }
    this.#noteArrival();
    this.fail();
  }

  onReset(): void {
    const error = new TransportError(
      'RESET',
      `connection with ${formatEndpoint(this.remote)}: connection reset by the other side`,
    );
    const isOurs = this.#phase === 'closing';
    this.#noteArrival();
    this.fail(isOurs ? undefined : error);
  }

  /** a FIN and a RST carry the acknowledgement of what has come before them */
  #noteArrival(): void {
    if (this.#phase === 'closing') this.#hasArrived = this.#wires?.out.isDelivered === true;
  }

  onSent(isEmpty: boolean): void {
    if (this.#phase !== 'open') return;
    this.#handlers?.onProgress();
    if (!isEmpty || !this.#needsDrain || this.#phase !== 'open') return;
    if (this.bufferedBytes > 0) return;
    this.#needsDrain = false;
    this.#handlers?.onDrain();
  }

  #end(): void {
    this.#phase = 'closed';
    this.#timer?.cancel();
    // a paused pipe would hold what is behind for ever
    this.#wires?.in.resume();
    this.#wires?.onGone();
  }

  /** for `abort`, which is called from outside: the last word comes from the event loop */
  #sayClosed(): void {
    this.#options.clock.startTimer(0, () => {
      const handlers = this.#handlers;
      this.#handlers = undefined;
      handlers?.onClose();
    });
  }
}
