/**
 * A stream of chunks into messages. It knows the header (header.ts) and nothing of what stands behind it.
 *
 * A message that lies whole in a chunk is handed out as a view of that chunk: no copy. One that is cut by a chunk border
 * is put together in a buffer of its own, each octet copied once, however small the chunks are; the buffer grows only
 * when a header has said so and been found good, so it holds one message and never more than the negotiated maximum.
 *
 * Not enough bytes is a value, not an exception. After a fault the stream has no message borders any more (RFC 4271
 * §6.1): the same fault comes back for ever and further chunks are dropped.
 */

import { HEADER_LENGTH, MAX_MESSAGE_LENGTH } from './codes.ts';
import { BgpFault } from './error.ts';
import { checkHeader } from './header.ts';

export type FramerResult =
  /** one whole message, header included; valid until the next call to `next` or `push` */
  | { readonly kind: 'frame'; readonly frame: Uint8Array }
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'fault'; readonly fault: BgpFault };

const INCOMPLETE: FramerResult = { kind: 'incomplete' };
const EMPTY = new Uint8Array(0);

/**
 * Cuts a stream into messages.
 *
 * @example
 * framer.push(chunk);
 * for (let next = framer.next(); next.kind === 'frame'; next = framer.next()) use(next.frame);
 */
export class Framer {
  #chunk: Uint8Array = EMPTY;
  #offset = 0;
  /** chunks behind the current one: only where `push` is called again before `next` was done with the last */
  #queue: Uint8Array[] = [];
  /** the message that a chunk border has cut */
  #partial: Uint8Array = EMPTY;
  #partialLength = 0;
  /** how much of the cut message must be there to go on: the header, then all of it */
  #wanted = HEADER_LENGTH;
  #extended: boolean;
  #fault: FramerResult | undefined;

  constructor(extended = false) {
    this.#extended = extended;
  }

  /** RFC 8654: from the next header on, messages of up to 65,535 octets are taken, or not. */
  setExtended(extended: boolean): void {
    this.#extended = extended;
  }

  /** octets that have come and not been handed out */
  get buffered(): number {
    let sum = this.#partialLength + this.#chunk.length - this.#offset;
    for (const chunk of this.#queue) sum += chunk.length;
    return sum;
  }

  /** The chunk must stay as it is until `next` has returned `incomplete`; after that nothing of it is kept. */
  push(chunk: Uint8Array): void {
    if (this.#fault !== undefined || chunk.length === 0) return;
    if (this.#offset < this.#chunk.length) {
      this.#queue.push(chunk);
    } else {
      this.#chunk = chunk;
      this.#offset = 0;
    }
  }

  next(): FramerResult {
    if (this.#fault !== undefined) return this.#fault;
    try {
      return this.#partialLength > 0 ? this.#nextCut() : this.#nextWhole();
    } catch (error) {
      if (!(error instanceof BgpFault)) throw error;
      return this.#fail(error);
    }
  }

  #nextWhole(): FramerResult {
    if (this.#offset === this.#chunk.length && !this.#advance()) return INCOMPLETE;
    const start = this.#offset;
    const available = this.#chunk.length - start;
    if (available >= HEADER_LENGTH) {
      const length = checkHeader(this.#chunk, start, this.#extended);
      if (available >= length) {
        this.#offset = start + length;
        return { kind: 'frame', frame: this.#chunk.subarray(start, this.#offset) };
      }
    }
    return this.#nextCut();
  }

  #nextCut(): FramerResult {
    if (!this.#fill()) return INCOMPLETE;
    if (this.#wanted === HEADER_LENGTH) {
      this.#wanted = checkHeader(this.#partial, 0, this.#extended);
      if (!this.#fill()) return INCOMPLETE;
    }
    const frame = this.#partial.subarray(0, this.#wanted);
    this.#partialLength = 0;
    this.#wanted = HEADER_LENGTH;
    return { kind: 'frame', frame };
  }

  /** Moves octets into the cut message until `wanted` are there; false where the chunks end before that. */
  #fill(): boolean {
    this.#reserve(this.#wanted);
    while (this.#partialLength < this.#wanted) {
      if (this.#offset === this.#chunk.length && !this.#advance()) return false;
      const missing = this.#wanted - this.#partialLength;
      const end = Math.min(this.#chunk.length, this.#offset + missing);
      this.#partial.set(this.#chunk.subarray(this.#offset, end), this.#partialLength);
      this.#partialLength += end - this.#offset;
      this.#offset = end;
    }
    return true;
  }

  #advance(): boolean {
    const chunk = this.#queue.shift();
    this.#chunk = chunk ?? EMPTY;
    this.#offset = 0;
    return chunk !== undefined;
  }

  #reserve(length: number): void {
    if (this.#partial.length >= length) return;
    // most messages fit the first size, so a neighbour with small ones costs 4 KiB and no second allocation
    const bigger = new Uint8Array(Math.max(length, MAX_MESSAGE_LENGTH));
    bigger.set(this.#partial.subarray(0, this.#partialLength));
    this.#partial = bigger;
  }

  #fail(fault: BgpFault): FramerResult {
    this.#chunk = EMPTY;
    this.#offset = 0;
    this.#queue = [];
    this.#partial = EMPTY;
    this.#partialLength = 0;
    this.#fault = { kind: 'fault', fault };
    return this.#fault;
  }
}
