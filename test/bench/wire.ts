/**
 * The bench's own small BGP writer (RFC 4271 §4, RFC 4760 §3, RFC 6793): just enough to say OPEN and KEEPALIVE, to pack
 * UPDATEs and to close with a Cease. It is not the codec of `protocol/` on purpose: the control of a measurement, and the
 * input of a decoder under test, must not be made by what is measured.
 */

const headerSize = 19;
const maxMessageSize = 4096;

export const messageType = { open: 1, update: 2, notification: 3, keepalive: 4 } as const;

/** A growing list of bytes, big end first. */
export class Bytes {
  #data = Buffer.alloc(512);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  u8(...values: readonly number[]): this {
    this.#reserve(values.length);
    for (const value of values) this.#size = this.#data.writeUInt8(value, this.#size);
    return this;
  }

  u16(value: number): this {
    this.#reserve(2);
    this.#size = this.#data.writeUInt16BE(value, this.#size);
    return this;
  }

  u32(...values: readonly number[]): this {
    this.#reserve(4 * values.length);
    for (const value of values) this.#size = this.#data.writeUInt32BE(value, this.#size);
    return this;
  }

  bytes(value: Uint8Array): this {
    this.#reserve(value.length);
    this.#data.set(value, this.#size);
    this.#size += value.length;
    return this;
  }

  /** A copy of what was written so far. */
  done(): Buffer {
    return Buffer.from(this.#data.subarray(0, this.#size));
  }

  #reserve(more: number): void {
    if (this.#size + more <= this.#data.length) return;
    const larger = Buffer.alloc(2 * (this.#size + more));
    larger.set(this.#data.subarray(0, this.#size));
    this.#data = larger;
  }
}

export function message(type: number, body: Uint8Array): Buffer {
  const out = Buffer.alloc(headerSize + body.length, 0xff);
  out.writeUInt16BE(out.length, 16);
  out.writeUInt8(type, 18);
  out.set(body, headerSize);
  return out;
}

export const keepalive = (): Buffer => message(messageType.keepalive, new Uint8Array());

/** Cease / Administrative Shutdown (RFC 4486) without a text. */
export const cease = (): Buffer => message(messageType.notification, Uint8Array.of(6, 2));

export type OpenOptions = {
  readonly asn: number;
  readonly routerId: string;
  readonly holdTimeSeconds: number;
  /** address families by AFI, all unicast */
  readonly afis: readonly number[];
};

export function open(options: OpenOptions): Buffer {
  const capabilities = new Bytes();
  for (const afi of options.afis) capabilities.u8(1, 4).u16(afi).u8(0, 1);
  capabilities.u8(65, 4).u32(options.asn);
  const body = new Bytes().u8(4).u16(options.asn > 0xffff ? 23456 : options.asn);
  body.u16(options.holdTimeSeconds).bytes(ipv4Bytes(options.routerId));
  body.u8(capabilities.size + 2, 2, capabilities.size).bytes(capabilities.done());
  return message(messageType.open, body.done());
}

export const ipv4Bytes = (text: string): Uint8Array => Uint8Array.from(text.split('.').map(Number));

/** A path attribute; a value over 255 octets gets the extended length bit (RFC 4271 §4.3). */
export function attribute(flags: number, code: number, value: Uint8Array): Buffer {
  const out = new Bytes();
  if (value.length > 255) out.u8(flags | 0x10, code).u16(value.length);
  else out.u8(flags, code, value.length);
  return out.bytes(value).done();
}

/** ORIGIN igp, AS_PATH of one sequence, NEXT_HOP, and COMMUNITIES where there are some. */
export function originAttributes(options: {
  readonly asPath: readonly number[];
  readonly nextHop: string;
  readonly communities: readonly number[];
}): Buffer {
  const path = new Bytes();
  if (options.asPath.length > 0) path.u8(2, options.asPath.length).u32(...options.asPath);
  const all = new Bytes()
    .bytes(attribute(0x40, 1, Uint8Array.of(0)))
    .bytes(attribute(0x40, 2, path.done()))
    .bytes(attribute(0x40, 3, ipv4Bytes(options.nextHop)));
  if (options.communities.length > 0) {
    all.bytes(attribute(0xc0, 8, new Bytes().u32(...options.communities).done()));
  }
  return all.done();
}

/** NLRI of one prefix: length in bits and the octets that it needs. */
export function nlri(address: Uint8Array, length: number): Buffer {
  const size = Math.ceil(length / 8);
  const out = Buffer.alloc(size + 1);
  out.writeUInt8(length, 0);
  out.set(address.subarray(0, size), 1);
  return out;
}

/** UPDATEs that announce IPv4 `prefixes` under one set of attributes, each as full as 4,096 octets allow. */
export function updates(attributes: Uint8Array, prefixes: readonly Uint8Array[]): Buffer[] {
  const room = maxMessageSize - headerSize - 4 - attributes.length;
  const out: Buffer[] = [];
  let packed: Uint8Array[] = [];
  let used = 0;
  const flush = (): void => {
    if (packed.length === 0) return;
    const body = new Bytes().u16(0).u16(attributes.length).bytes(attributes);
    for (const prefix of packed) body.bytes(prefix);
    out.push(message(messageType.update, body.done()));
    packed = [];
    used = 0;
  };
  for (const prefix of prefixes) {
    if (used + prefix.length > room) flush();
    packed.push(prefix);
    used += prefix.length;
  }
  flush();
  return out;
}

/** An UPDATE with nothing in it: End-of-RIB of IPv4 unicast (RFC 4724 §2). */
export const endOfRib = (): Buffer => message(messageType.update, new Uint8Array(4));

/** Cuts whole messages off the front of `data`; what is left is the start of the next one. */
export function frames(data: Buffer): { readonly messages: Buffer[]; readonly rest: Buffer } {
  const messages: Buffer[] = [];
  let rest = data;
  while (rest.length >= headerSize && rest.length >= rest.readUInt16BE(16)) {
    const size = Math.max(rest.readUInt16BE(16), headerSize);
    messages.push(rest.subarray(0, size));
    rest = rest.subarray(size);
  }
  return { messages, rest };
}
