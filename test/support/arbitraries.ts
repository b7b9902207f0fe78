/**
 * fast-check arbitraries of the values that tests share. Edge values (all zeros, all ones, mapped, link-local, lengths
 * at both ends) come up often on purpose: uniform 128-bit numbers would never show a run of zero groups.
 */

import fc from 'fast-check';
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
