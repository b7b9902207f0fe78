/**
 * fast-check arbitraries of the values that tests share. Edge values (all zeros, all ones, mapped, link-local, lengths
 * at both ends) come up often on purpose: uniform 128-bit numbers would never show a run of zero groups.
 */

import fc from 'fast-check';
import type {
  Capability,
  Message,
  NotificationMessage,
  OpenMessage,
  RouteRefreshMessage,
} from '../../protocol/bgp/message.ts';
import type { CodecContext } from '../../protocol/bgp/negotiate.ts';
import {
  type Address,
  type Ipv4Address,
  type Ipv6Address,
  ipv4Address,
  ipv6Address,
  maskPrefix,
  type Prefix,
} from '../../protocol/net/address.ts';

export const u8 = (): fc.Arbitrary<number> => fc.integer({ min: 0, max: 0xff });
export const u16 = (): fc.Arbitrary<number> => fc.integer({ min: 0, max: 0xffff });
export const u32 = (): fc.Arbitrary<number> => fc.integer({ min: 0, max: 0xffffffff });
export const bytes = (maxLength = 64, minLength = 0): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ minLength, maxLength }).map((value) => Uint8Array.from(value));

const word = (): fc.Arbitrary<number> =>
  fc.oneof(u32(), fc.constantFrom(0, 0xffff, 0xffff0000, 0xffffffff, 1, 0x80000000, 0xfe800000));

export const ipv4 = (): fc.Arbitrary<Ipv4Address> => word().map(ipv4Address);

export const ipv6 = (): fc.Arbitrary<Ipv6Address> =>
  fc.oneof(
    fc.tuple(word(), word(), word(), word()).map((words) => ipv6Address(...words)),
    fc
      .array(fc.oneof(fc.constant(0), u16()), { minLength: 8, maxLength: 8 })
      .map((parts) => ipv6Address(pair(parts, 0), pair(parts, 2), pair(parts, 4), pair(parts, 6))),
    word().map((low) => ipv6Address(0, 0, 0xffff, low)),
  );

const pair = (parts: readonly number[], at: number): number =>
  ((parts[at] ?? 0) << 16) | (parts[at + 1] ?? 0);

export const address = (): fc.Arbitrary<Address> => fc.oneof(ipv4(), ipv6());

export const ipv4Prefix = (): fc.Arbitrary<Prefix> =>
  fc
    .tuple(ipv4(), fc.integer({ min: 0, max: 32 }))
    .map(([base, length]) => maskPrefix(base, length));

export const ipv6Prefix = (): fc.Arbitrary<Prefix> =>
  fc
    .tuple(ipv6(), fc.integer({ min: 0, max: 128 }))
    .map(([base, length]) => maskPrefix(base, length));

export const prefix = (): fc.Arbitrary<Prefix> => fc.oneof(ipv4Prefix(), ipv6Prefix());

export const asn = (): fc.Arbitrary<number> => fc.integer({ min: 1, max: 0xffffffff });

/** mostly the families that two speakers can really share */
const family = {
  afi: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(1, 2) }, u16()),
  safi: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(1, 2) }, u8()),
};

/** names that TextDecoder gives back as they went in: whole characters, none of them the replacement character */
const name = (): fc.Arbitrary<string> =>
  fc
    .string({ unit: 'binary', maxLength: 12 })
    .filter((text) => text.isWellFormed() && !text.includes('\ufffd'));

const KNOWN_CODES = new Set([1, 2, 5, 6, 9, 64, 65, 69, 70, 73]);

export const capability = (): fc.Arbitrary<Capability> =>
  fc.oneof(
    fc.record({ kind: fc.constant('multiprotocol' as const), ...family }),
    fc.constantFrom<Capability>(
      { kind: 'route-refresh' },
      { kind: 'extended-message' },
      { kind: 'enhanced-route-refresh' },
    ),
    fc.record({
      kind: fc.constant('extended-next-hop' as const),
      entries: fc.array(fc.record({ afi: u16(), safi: u16(), nextHopAfi: u16() }), {
        maxLength: 5,
      }),
    }),
    fc.record({ kind: fc.constant('role' as const), role: u8() }),
    fc.record({
      kind: fc.constant('graceful-restart' as const),
      restarting: fc.boolean(),
      notification: fc.boolean(),
      restartTimeSeconds: fc.integer({ min: 0, max: 4095 }),
      families: fc.array(fc.record({ ...family, forwarding: fc.boolean() }), { maxLength: 5 }),
    }),
    fc.record({ kind: fc.constant('four-octet-asn' as const), asn: asn() }),
    fc.record({
      kind: fc.constant('add-path' as const),
      entries: fc.array(fc.record({ ...family, mode: u8() }), { maxLength: 5 }),
    }),
    fc.record({ kind: fc.constant('fqdn' as const), host: name(), domain: name() }),
    fc.record({
      kind: fc.constant('unknown' as const),
      code: u8().filter((code) => !KNOWN_CODES.has(code)),
      value: bytes(255),
    }),
  );

/** OPENs that a decoder has to accept; the capabilities often need more than 255 octets (RFC 9072). */
export const openMessage = (): fc.Arbitrary<OpenMessage> =>
  fc.record({
    kind: fc.constant('open' as const),
    version: fc.constant(4),
    asn: fc.integer({ min: 1, max: 0xffff }),
    holdTimeSeconds: u16().filter((seconds) => seconds !== 1 && seconds !== 2),
    routerId: fc.integer({ min: 1, max: 0xffffffff }),
    capabilities: fc.array(capability(), { maxLength: 12 }),
  });

export const notificationMessage = (): fc.Arbitrary<NotificationMessage> =>
  fc.record({
    kind: fc.constant('notification' as const),
    code: fc.oneof(u8(), fc.constant(6)),
    subcode: fc.oneof(u8(), fc.constantFrom(2, 4, 9)),
    data: fc.oneof(bytes(2), bytes(300)),
  });

export const routeRefreshMessage = (): fc.Arbitrary<RouteRefreshMessage> =>
  fc.oneof(
    fc.record({ kind: fc.constant('route-refresh' as const), ...family, subtype: u8() }),
    fc.record({
      kind: fc.constant('route-refresh' as const),
      ...family,
      subtype: u8().filter((subtype) => subtype !== 1 && subtype !== 2),
      data: bytes(40, 1),
    }),
  );

/** any message but UPDATE */
export const sessionMessage = (): fc.Arbitrary<Message> =>
  fc.oneof(
    openMessage(),
    notificationMessage(),
    routeRefreshMessage(),
    fc.constant<Message>({ kind: 'keepalive' }),
  );

/** Any agreement of two speakers, as far as the codec has to know it. */
export const codecContext = (): fc.Arbitrary<CodecContext> => {
  const families = fc.subarray([1, 2].flatMap((afi) => [1, 2].map((safi) => ({ afi, safi }))));
  return fc.record({
    as4: fc.boolean(),
    extendedMessage: fc.boolean(),
    internal: fc.boolean(),
    addPathReceive: families,
    addPathSend: families,
    extendedNextHop: fc.subarray([{ afi: 1, safi: 1 }]),
  });
};

/** Octets in pieces: the borders are anywhere, empty pieces are among them. */
export const chunked = (whole: Uint8Array): fc.Arbitrary<readonly Uint8Array[]> =>
  fc.array(fc.integer({ min: 0, max: whole.length }), { maxLength: 12 }).map((cuts) => {
    const borders = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
    return borders.slice(1).map((end, index) => whole.slice(borders[index], end));
  });
