/**
 * Netlink messages as bytes (RFC 3549 §2): a header of 16 octets, a body that begins with a fixed structure and goes on with
 * attributes, everything aligned to four. Pure: sockets are netlink-socket.ts, what the bodies mean is in address-message.ts,
 * link-message.ts and route-message.ts.
 *
 *   nlmsghdr:  u32 length | u16 type | u16 flags | u32 sequence | u32 port        nlattr: u16 length | u16 type | value
 *
 * Numbers are in the order of the machine, and the machines we run on (x86-64, arm64) are little-endian. Decoding never
 * throws: what is cut short or makes no sense is left out.
 */

import type { Address, Family } from 'bgp-ts';

export const MessageType = { error: 2, done: 3, overrun: 4 } as const;

export const MessageFlag = {
  request: 0x1,
  ack: 0x4,
  /** in an answer: the table changed while it was listed, so the list may lack something */
  dumpInterrupted: 0x10,
  dump: 0x300,
  replace: 0x100,
  exclusive: 0x200,
  create: 0x400,
  /** in an error: the message it is about is left out */
  capped: 0x100,
  /** in an error: attributes follow */
  ackAttributes: 0x200,
} as const;

export const AF_INET = 2;
export const AF_INET6 = 10;

const HEADER_OCTETS = 16;
const ATTRIBUTE_HEADER_OCTETS = 4;
/** the two upper bits say "nested" and "network order" and are no part of the number */
const ATTRIBUTE_TYPE_MASK = 0x3fff;
const ERROR_TEXT_ATTRIBUTE = 1;

export interface NetlinkMessage {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  readonly body: Uint8Array;
}

/** Not by bits: a length of 2^31 or more would become negative. */
const align = (length: number) => Math.ceil(length / 4) * 4;

// Lists have thousands of numbers in small pieces: a DataView for each would cost more than all the rest.
const u16 = (bytes: Uint8Array, at: number) => (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);

/** a signed 32-bit integer, as bgp-ts keeps the words of an address */
const networkWord = (bytes: Uint8Array, at: number) =>
  ((bytes[at] ?? 0) << 24) |
  ((bytes[at + 1] ?? 0) << 16) |
  ((bytes[at + 2] ?? 0) << 8) |
  (bytes[at + 3] ?? 0);

const viewOf = (bytes: Uint8Array) =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export function encodeMessage(message: NetlinkMessage): Uint8Array {
  const bytes = new Uint8Array(HEADER_OCTETS + align(message.body.length));
  const view = viewOf(bytes);
  view.setUint32(0, HEADER_OCTETS + message.body.length, true);
  view.setUint16(4, message.type, true);
  view.setUint16(6, message.flags, true);
  view.setUint32(8, message.sequence, true);
  bytes.set(message.body, HEADER_OCTETS);
  return bytes;
}

/** The messages of one datagram; bodies are views of it. */
export function decodeMessages(bytes: Uint8Array): readonly NetlinkMessage[] {
  const view = viewOf(bytes);
  const messages: NetlinkMessage[] = [];
  let at = 0;
  while (at + HEADER_OCTETS <= bytes.length) {
    const length = view.getUint32(at, true);
    if (length < HEADER_OCTETS || at + length > bytes.length) break;
    messages.push({
      type: view.getUint16(at + 4, true),
      flags: view.getUint16(at + 6, true),
      sequence: view.getUint32(at + 8, true),
      body: bytes.subarray(at + HEADER_OCTETS, at + length),
    });
    at += align(length);
  }
  return messages;
}

export function encodeAttribute(type: number, value: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(align(ATTRIBUTE_HEADER_OCTETS + value.length));
  const view = viewOf(bytes);
  view.setUint16(0, ATTRIBUTE_HEADER_OCTETS + value.length, true);
  view.setUint16(2, type, true);
  bytes.set(value, ATTRIBUTE_HEADER_OCTETS);
  return bytes;
}

/** The value of the first attribute of a type, among those that start at `from`. A list of thousands makes no garbage here. */
export function findAttribute(
  body: Uint8Array,
  from: number,
  type: number,
): Uint8Array | undefined {
  let at = from;
  while (at + ATTRIBUTE_HEADER_OCTETS <= body.length) {
    const length = u16(body, at);
    if (length < ATTRIBUTE_HEADER_OCTETS || at + length > body.length) return undefined;
    if ((u16(body, at + 2) & ATTRIBUTE_TYPE_MASK) === type) {
      return body.subarray(at + ATTRIBUTE_HEADER_OCTETS, at + length);
    }
    at += align(length);
  }
  return undefined;
}

/** What the kernel answers to a request, and how a list ends: 0, or the number of an error and perhaps a sentence of its own. */
export function decodeResult(
  message: NetlinkMessage,
): { readonly errno: number; readonly text?: string } | undefined {
  const { type, flags, body } = message;
  if (type !== MessageType.error && type !== MessageType.done) return undefined;
  if (body.length < 4) return { errno: 0 };
  const view = viewOf(body);
  const errno = -view.getInt32(0, true);
  if (errno <= 0) return { errno: 0 };
  if ((flags & MessageFlag.ackAttributes) === 0) return { errno };
  const text = findAttribute(body, attributesOfError(message, view), ERROR_TEXT_ATTRIBUTE);
  return text === undefined ? { errno } : { errno, text: decodeText(text) };
}

/** Behind the number comes the request that failed, only its header when capped; a list's end has none. */
function attributesOfError({ type, flags, body }: NetlinkMessage, view: DataView): number {
  if (type === MessageType.done) return 4;
  if ((flags & MessageFlag.capped) !== 0 || body.length < 8) return 4 + HEADER_OCTETS;
  return 4 + align(view.getUint32(4, true));
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

export function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  viewOf(bytes).setUint32(0, value, true);
  return bytes;
}

/** undefined where there are fewer than four octets */
export function uint32At(bytes: Uint8Array | undefined, at = 0): number | undefined {
  if (bytes === undefined || at + 4 > bytes.length) return undefined;
  return (u16(bytes, at) | (u16(bytes, at + 2) << 16)) >>> 0;
}

/** undefined where there are fewer than two octets */
export function uint16At(bytes: Uint8Array, at: number): number | undefined {
  return at + 2 > bytes.length ? undefined : u16(bytes, at);
}

/** A C string: names of interfaces are ASCII in practice, but the kernel takes any bytes. */
export function encodeText(text: string): Uint8Array {
  return concat(new TextEncoder().encode(text), new Uint8Array(1));
}

const decoder = new TextDecoder();

export function decodeText(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return decoder.decode(end === -1 ? bytes : bytes.subarray(0, end));
}

export const familyNumber = (family: Family) => (family === 'ipv4' ? AF_INET : AF_INET6);

export function familyOf(number: number | undefined): Family | undefined {
  if (number === AF_INET) return 'ipv4';
  return number === AF_INET6 ? 'ipv6' : undefined;
}

/** Addresses are in network order, whatever the machine. */
export function encodeAddress(address: Address): Uint8Array {
  const words =
    address.family === 'ipv4' ? [address.bits] : [address.w0, address.w1, address.w2, address.w3];
  const bytes = new Uint8Array(words.length * 4);
  const view = viewOf(bytes);
  words.forEach((word, index) => {
    view.setInt32(index * 4, word);
  });
  return bytes;
}

/** undefined where the octets are too few for the family */
export function decodeAddress(family: Family, bytes: Uint8Array | undefined): Address | undefined {
  if (bytes === undefined || bytes.length < (family === 'ipv4' ? 4 : 16)) return undefined;
  if (family === 'ipv4') return { family, bits: networkWord(bytes, 0) };
  return {
    family,
    w0: networkWord(bytes, 0),
    w1: networkWord(bytes, 4),
    w2: networkWord(bytes, 8),
    w3: networkWord(bytes, 12),
  };
}
