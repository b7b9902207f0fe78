/**
 * BGP messages as a neighbour would write them by hand: octets put together from the diagrams of the RFCs, right or wrong.
 * Deliberately none of our codec: a mistake that encoder and decoder share must not hide here. No checks either, since most
 * of what a scripted neighbour sends is meant to be broken.
 */

export const Type = {
  open: 1,
  update: 2,
  notification: 3,
  keepalive: 4,
  routeRefresh: 5,
} as const;

export const MARKER = 'ff'.repeat(16);

/** Hex text with spaces into octets. */
export function hex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(/[\s:]/g, ''), 'hex'));
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

export function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}

export const u8 = (value: number): Uint8Array => Uint8Array.of(value);
export const u16 = (value: number): Uint8Array => Uint8Array.of(value >>> 8, value);
export const u32 = (value: number): Uint8Array =>
  Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);

/** RFC 4271 §4.1; `length` lies where it is given. */
export function message(type: number, body: Uint8Array, length = 19 + body.length): Uint8Array {
  return join(hex(MARKER), u16(length), u8(type), body);
}

export const KEEPALIVE = message(Type.keepalive, new Uint8Array(0));

export function dotted(text: string): Uint8Array {
  return Uint8Array.from(text.split('.').map(Number));
}

/** RFC 5492 §4 */
export function capability(code: number, value: Uint8Array): Uint8Array {
  return join(u8(code), u8(value.length), value);
}

export const Capability = {
  ipv4: capability(1, hex('0001 00 01')),
  ipv6: capability(1, hex('0002 00 01')),
  routeRefresh: capability(2, hex('')),
  extendedMessage: capability(6, hex('')),
  enhancedRouteRefresh: capability(70, hex('')),
  role: (role: number): Uint8Array => capability(9, u8(role)),
  asn4: (asn: number): Uint8Array => capability(65, u32(asn)),
} as const;

/** RFC 4271 §4.2 */
export function parameter(type: number, value: Uint8Array): Uint8Array {
  return join(u8(type), u8(value.length), value);
}

/** RFC 9072 §2 */
export function extendedParameters(...parameters: readonly Uint8Array[]): Uint8Array {
  const all = join(...parameters);
  return join(hex('ff ff'), u16(all.length), all);
}

export interface OpenFields {
  readonly version?: number;
  readonly asn?: number;
  readonly holdTime?: number;
  readonly routerId?: string;
  readonly capabilities?: readonly Uint8Array[];
  /** everything behind the identifier, with its length octet */
  readonly tail?: Uint8Array;
}

export const OUR_ASN = 65000;
export const THEIR_ASN = 65001;
export const OUR_ID = '192.0.2.1';
export const THEIR_ID = '192.0.2.2';

/** Not 3, so that no keepalive comes between the messages that a test is about. */
export const QUIET_HOLD_SECONDS = 30;

export const USUAL_CAPABILITIES: readonly Uint8Array[] = [
  Capability.ipv4,
  Capability.ipv6,
  Capability.routeRefresh,
  Capability.enhancedRouteRefresh,
];

/** A good OPEN unless a field says otherwise. */
export function open(fields: OpenFields = {}): Uint8Array {
  const asn = fields.asn ?? THEIR_ASN;
  const capabilities = fields.capabilities ?? [...USUAL_CAPABILITIES, Capability.asn4(asn)];
  const parameters = capabilities.length === 0 ? hex('') : parameter(2, join(...capabilities));
  const head = join(
    u8(fields.version ?? 4),
    u16(asn > 0xffff ? 23456 : asn),
    u16(fields.holdTime ?? QUIET_HOLD_SECONDS),
    dotted(fields.routerId ?? THEIR_ID),
  );
  return message(Type.open, join(head, fields.tail ?? join(u8(parameters.length), parameters)));
}

/** RFC 4271 §4.5 */
export function notification(
  code: number,
  subcode: number,
  data: Uint8Array = hex(''),
): Uint8Array {
  return message(Type.notification, join(u8(code), u8(subcode), data));
}

/** RFC 9003 §2: one octet of length, then UTF-8. */
export function shutdownText(text: string): Uint8Array {
  const utf8 = new TextEncoder().encode(text);
  return join(u8(utf8.length), utf8);
}

/** RFC 2918 §3, RFC 7313 §3.2 */
export function routeRefresh(afi: number, safi: number, subtype = 0): Uint8Array {
  return message(Type.routeRefresh, join(u16(afi), u8(subtype), u8(safi)));
}

/** RFC 4271 §4.3 */
export function attribute(flags: number, code: number, value: Uint8Array): Uint8Array {
  const length = (flags & 0x10) === 0 ? u8(value.length) : u16(value.length);
  return join(u8(flags), u8(code), length, value);
}

/** `10.1.2.0/24` as NLRI */
export function prefix4(text: string): Uint8Array {
  const [base = '', length = '32'] = text.split('/');
  return join(u8(Number(length)), dotted(base).slice(0, Math.ceil(Number(length) / 8)));
}

export interface UpdateFields {
  readonly withdrawn?: readonly Uint8Array[];
  readonly attributes?: readonly Uint8Array[];
  readonly nlri?: readonly Uint8Array[];
  readonly withdrawnLength?: number;
  readonly attributesLength?: number;
}

export function update(fields: UpdateFields): Uint8Array {
  const withdrawn = join(...(fields.withdrawn ?? []));
  const attributes = join(...(fields.attributes ?? []));
  return message(
    Type.update,
    join(
      u16(fields.withdrawnLength ?? withdrawn.length),
      withdrawn,
      u16(fields.attributesLength ?? attributes.length),
      attributes,
      ...(fields.nlri ?? []),
    ),
  );
}

/** Good attributes of an eBGP neighbour that sends four-octet AS numbers. */
export const Good = {
  origin: attribute(0x40, 1, hex('00')),
  asPath: attribute(0x40, 2, hex('02 01 0000fde9')),
  nextHop: attribute(0x40, 3, dotted('192.0.2.2')),
  localPref: attribute(0x40, 5, u32(100)),
} as const;

export const GOOD: readonly Uint8Array[] = [Good.origin, Good.asPath, Good.nextHop];

/** IPv6 unicast prefixes of MP_REACH_NLRI with next hop 2001:db8::2. */
export function mpReach6(...prefixes: readonly Uint8Array[]): Uint8Array {
  const nextHop = hex('20010db8 00000000 00000000 00000002');
  return attribute(0x90, 14, join(hex('0002 01 10'), nextHop, hex('00'), ...prefixes));
}

export function mpUnreach6(...prefixes: readonly Uint8Array[]): Uint8Array {
  return attribute(0x90, 15, join(hex('0002 01'), ...prefixes));
}
