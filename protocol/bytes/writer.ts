/**
 * A growing big-endian writer. The only place that puts numbers into bytes, so byte order cannot go wrong elsewhere.
 * Lengths that are known only afterwards are reserved and patched (`reserveU8/U16`, `patchU8/U16`).
 */

export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  u8(value: number): this {
    const at = this.#grow(1);
    this.#bytes[at] = value;
    return this;
  }

  u16(value: number): this {
    const at = this.#grow(2);
    this.#bytes[at] = value >>> 8;
    this.#bytes[at + 1] = value;
    return this;
  }

  u32(value: number): this {
    const at = this.#grow(4);
    const bytes = this.#bytes;
    bytes[at] = value >>> 24;
    bytes[at + 1] = value >>> 16;
    bytes[at + 2] = value >>> 8;
    bytes[at + 3] = value;
    return this;
  }

  bytes(value: Uint8Array): this {
    const at = this.#grow(value.length);
    this.#bytes.set(value, at);
    return this;
  }

  fill(value: number, count: number): this {
    const at = this.#grow(count);
    this.#bytes.fill(value, at, at + count);
    return this;
  }

  /** leaves one octet open and returns where it is */
  reserveU8(): number {
    return this.#grow(1);
  }

  /** leaves two octets open and returns where they are */
  reserveU16(): number {
    return this.#grow(2);
  }

  patchU8(at: number, value: number): void {
    this.#bytes[at] = value;
  }

  patchU16(at: number, value: number): void {
    this.#bytes[at] = value >>> 8;
    this.#bytes[at + 1] = value;
  }

  /** forgets what was written from `length` on */
  truncate(length: number): void {
    this.#length = length;
  }

  /** a copy of what was written */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #grow(count: number): number {
    const at = this.#length;
    const needed = at + count;
    if (needed > this.#bytes.length) {
      const bigger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      bigger.set(this.#bytes.subarray(0, at));
      this.#bytes = bigger;
    }
    this.#length = needed;
    return at;
  }
}
