/**
 * A bounds-checked big-endian cursor over bytes. Reading past the end throws `OutOfBytes`, which the codec turns into the
 * fault that fits the place; callers that can say something better test `remaining` first.
 */

import { i32At, u8At, u16At } from './peek.ts';

export class OutOfBytes extends Error {
  constructor(wanted: number, remaining: number) {
    super(`${wanted} octets wanted, ${remaining} left`);
    this.name = 'OutOfBytes';
  }
}

export class ByteReader {
  readonly bytes: Uint8Array;
  /** where the next read starts */
  offset: number;
  /** where this reader ends: the first octet that is not its own */
  readonly end: number;

  constructor(bytes: Uint8Array, offset = 0, end: number = bytes.length) {
    this.bytes = bytes;
    this.offset = offset;
    this.end = end;
  }

  get remaining(): number {
    return this.end - this.offset;
  }

  u8(): number {
    return u8At(this.bytes, this.#take(1));
  }

  u16(): number {
    return u16At(this.bytes, this.#take(2));
  }

  /** unsigned */
  u32(): number {
    return this.i32() >>> 0;
  }

  /** the same bits as a signed number: how addresses are held */
  i32(): number {
    return i32At(this.bytes, this.#take(4));
  }

  /** a copy of the next `count` octets */
  take(count: number): Uint8Array {
    const at = this.#take(count);
    return this.bytes.slice(at, at + count);
  }

  /** a reader of the next `count` octets; this one goes on behind them */
  sub(count: number): ByteReader {
    const at = this.#take(count);
    return new ByteReader(this.bytes, at, at + count);
  }

  /** a copy of all that is left */
  rest(): Uint8Array {
    return this.take(this.remaining);
  }

  #take(count: number): number {
    const at = this.offset;
    if (count > this.end - at) throw new OutOfBytes(count, this.end - at);
    this.offset = at + count;
    return at;
  }
}
