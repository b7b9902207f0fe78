/**
 * One direction of an in-memory connection: a sender's queue, a bounded window of bytes under way or unread, and a
 * receiver that may pause. Bytes leave the queue only into the window and free it only when the receiver has taken them
 * and the acknowledgement has travelled back, so a reader that pauses really stops its writer.
 *
 * Everything that crosses (bytes, the opening, FIN, RST) keeps its order and takes the latency of the network. A frozen
 * pipe delivers nothing and loses nothing: silence, as behind a link that is down, until it is thawed.
 */

import type { Clock, Timer } from './clock.ts';
import type { Random } from './random.ts';

export interface PipeReceiver {
  onOpenArrived(): void;
  onBytes(bytes: Uint8Array): void;
  onFin(): void;
  onReset(): void;
}

export interface PipeSender {
  /** bytes have left the queue; `isEmpty` when none is left */
  onSent(isEmpty: boolean): void;
}

export interface PipeOptions {
  readonly clock: Clock;
  readonly latencyMs: number;
  readonly windowBytes: number;
  /** splits and merges chunks; without it they arrive as they were written */
  readonly random: Random | undefined;
  readonly isFrozen: () => boolean;
  /** acknowledgements come back the other way, and that may be frozen too */
  readonly isReturnFrozen: () => boolean;
}

type Item =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; readonly dueMs: number }
  | { readonly kind: 'open' | 'fin' | 'reset'; readonly dueMs: number };

export class MemoryPipe {
  readonly #options: PipeOptions;
  readonly #receiver: PipeReceiver;
  readonly #sender: PipeSender;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #isEnding = false;
  #flight: Item[] = [];
  /** bytes that have left the queue and are not acknowledged: never more than the window */
  #windowUsed = 0;
  #unacknowledged = 0;
  #isPaused = false;
  readonly #timers: { send?: Timer; arrive?: Timer; acknowledge?: Timer } = {};

  constructor(options: PipeOptions, receiver: PipeReceiver, sender: PipeSender) {
    this.#options = options;
    this.#receiver = receiver;
    this.#sender = sender;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** all that has left the queue has arrived, and this side knows */
  get isAcknowledged(): boolean {
    return this.#windowUsed === 0;
  }

  /** all that was written has arrived; this side may not know yet */
  get isDelivered(): boolean {
    return this.#queuedBytes === 0 && this.#flight.every(({ kind }) => kind !== 'bytes');
  }

  write(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    this.#sendSoon();
  }

  open(): void {
    this.#enter({ kind: 'open', dueMs: this.#dueMs() });
  }

  /** FIN after everything that is queued */
  end(): void {
    this.#isEnding = true;
    this.#sendSoon();
  }

  /** RST now; what is queued is dropped, what is under way is not */
  reset(): void {
    this.dropQueue();
    this.#enter({ kind: 'reset', dueMs: this.#dueMs() });
  }

  /** Nobody sends or listens any more at the sender's side; what is under way still arrives. */
  dropQueue(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#isEnding = false;
    this.#timers.send?.cancel();
    delete this.#timers.send;
  }

  /** Nothing arrives any more, no timer is left. */
  destroy(): void {
    this.dropQueue();
    this.#flight = [];
    this.#unacknowledged = 0;
    this.#timers.arrive?.cancel();
    this.#timers.acknowledge?.cancel();
    delete this.#timers.arrive;
    delete this.#timers.acknowledge;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#arriveSoon();
  }

  /** the network was thawed: go on where it stopped */
  wake(): void {
    this.#arriveSoon();
    this.#acknowledgeSoon();
  }

  #sendSoon(): void {
    if (this.#timers.send !== undefined) return;
    this.#timers.send = this.#options.clock.startTimer(0, () => {
      delete this.#timers.send;
      this.#send();
    });
  }

  #send(): void {
    let sent = 0;
    for (;;) {
      const room = this.#options.windowBytes - this.#windowUsed;
      const head = this.#queue[0];
      if (head === undefined || room <= 0) break;
      const size = this.#chunkSize(Math.min(head.length, room));
      if (size === head.length) this.#queue.shift();
      else this.#queue[0] = head.subarray(size);
      this.#queuedBytes -= size;
      this.#windowUsed += size;
      sent += size;
      // a copy: the receiver's memory is not the sender's
      this.#enter({ kind: 'bytes', bytes: head.slice(0, size), dueMs: this.#dueMs() });
    }
    if (this.#isEnding && this.#queuedBytes === 0) {
      this.#isEnding = false;
      this.#enter({ kind: 'fin', dueMs: this.#dueMs() });
    }
    if (sent > 0) this.#sender.onSent(this.#queuedBytes === 0);
  }

  #chunkSize(most: number): number {
    const { random } = this.#options;
    return random === undefined ? most : 1 + Math.floor(random.next() * most);
  }

  #dueMs(): number {
    return this.#options.clock.now() + this.#options.latencyMs;
  }

  #enter(item: Item): void {
    this.#flight.push(item);
    this.#arriveSoon();
  }

  #arriveSoon(): void {
    const head = this.#flight[0];
    if (head === undefined || this.#timers.arrive !== undefined) return;
    if (this.#options.isFrozen() || !this.#canArrive(head)) return;
    const waitMs = Math.max(0, head.dueMs - this.#options.clock.now());
    this.#timers.arrive = this.#options.clock.startTimer(waitMs, () => {
      delete this.#timers.arrive;
      this.#arrive();
      this.#arriveSoon();
    });
  }

  /** A paused reader sees neither bytes nor the FIN behind them, but a reset reaches it. */
  #canArrive(head: Item): boolean {
    if (!this.#isPaused) return true;
    return head.kind === 'open' || this.#flight.some((item) => item.kind === 'reset');
  }

  #arrive(): void {
    if (this.#options.isFrozen()) return;
    const head = this.#flight[0];
    if (head === undefined || !this.#canArrive(head)) return;
    this.#flight.shift();
    switch (head.kind) {
      case 'open':
        this.#receiver.onOpenArrived();
        return;
      case 'fin':
        this.#receiver.onFin();
        return;
      case 'reset':
        this.#receiver.onReset();
        return;
      case 'bytes':
        // only on the way to the reset behind it: an unread queue goes with its connection
        if (!this.#isPaused) this.#deliver(this.#merged(head.bytes));
    }
  }

  /** with a Random: now and then together with what else has arrived */
  #merged(first: Uint8Array): Uint8Array {
    const { random, clock } = this.#options;
    const parts = [first];
    for (;;) {
      const next = this.#flight[0];
      if (random === undefined || next?.kind !== 'bytes' || next.dueMs > clock.now()) break;
      if (random.next() < 0.5) break;
      parts.push(next.bytes);
      this.#flight.shift();
    }
    if (parts.length === 1) return first;
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  #deliver(bytes: Uint8Array): void {
    const { length } = bytes;
    this.#receiver.onBytes(bytes);
    // A receiver that kept a view instead of a copy shall notice here and not in production.
    bytes.fill(0xdd);
    this.#unacknowledged += length;
    this.#acknowledgeSoon();
  }

  #acknowledgeSoon(): void {
    if (this.#unacknowledged === 0 || this.#timers.acknowledge !== undefined) return;
    const { clock, latencyMs } = this.#options;
    this.#timers.acknowledge = clock.startTimer(latencyMs, () => {
      delete this.#timers.acknowledge;
      if (this.#options.isReturnFrozen()) return;
      this.#windowUsed -= this.#unacknowledged;
      this.#unacknowledged = 0;
      if (this.#queuedBytes > 0) this.#send();
    });
  }
}
