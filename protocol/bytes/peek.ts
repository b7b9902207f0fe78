/**
 * Big-endian reads at an offset, with no check at all: the caller has compared the offset with the end before. The UPDATE
 * codec and the MRT reader work this way because they handle hundreds of thousands of messages a second; everything
 * else uses `ByteReader`. The casts of this file are that promise of the caller, in the one place where it is needed.
 */

export function u8At(bytes: Uint8Array, at: number): number {
  return bytes[at] as number;
}

export function u16At(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

/** unsigned */
export function u32At(bytes: Uint8Array, at: number): number {
  return i32At(bytes, at) >>> 0;
}

/** the same bits as a signed number: how addresses are held */
export function i32At(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}
