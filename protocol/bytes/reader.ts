/**
 * A bounds-checked big-endian cursor over bytes. Reading past the end throws `OutOfBytes`, which the codec turns into the
 * fault that fits the place; callers that can say something better test `remaining` first.
 */

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
    const at = this.#take(1);
    return this.bytes[at] as number;
  }

  u16(): number {
    const at = this.#take(2);
    const bytes = this.bytes;
    return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  }

  /** unsigned */
  u32(): number {
    return this.i32() >>> 0;
  }

  /** the same bits as a signed number: how addresses are held */
  i32(): number {
    const at = this.#take(4);
    const bytes = this.bytes;
    return (
      ((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)
    );
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
