/** Writes MRT records for tests: what a collector would have put into its file (RFC 6396). */

import { parseHex } from '../../protocol/bytes/hex.ts';
import { ByteWriter } from '../../protocol/bytes/writer.ts';

export const MRT_TIME = 1_700_000_000;

export function octets(hex: string): Uint8Array {
  const value = parseHex(hex);
  if (value === undefined) throw new Error(`not hex: ${hex}`);
  return value;
}

export function mrtRecord(type: number, subtype: number, body: Uint8Array | string): Uint8Array {
  const bytes = typeof body === 'string' ? octets(body) : body;
  return new ByteWriter()
    .u32(MRT_TIME)
    .u16(type)
    .u16(subtype)
    .u32(bytes.length)
    .bytes(bytes)
    .finish();
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const writer = new ByteWriter();
  for (const part of parts) writer.bytes(part);
  return writer.finish();
}

/** peer 192.0.2.1 of AS 65001, local 192.0.2.2 of AS 65000 */
export const PEERS_TWO_OCTETS = 'fde9 fde8 0000 0001 c0000201 c0000202';
export const PEERS_FOUR_OCTETS = '0000fde9 0000fde8 0000 0001 c0000201 c0000202';
/** the same over IPv6: 2001:db8::1 and 2001:db8::2 */
export const PEERS_IPV6 =
  '0000fde9 0000fde8 0000 0002 20010db8000000000000000000000001 20010db8000000000000000000000002';

const MARKER = 'ff'.repeat(16);
export const KEEPALIVE = `${MARKER}001304`;
/** 203.0.113.0/24 with ORIGIN, AS_PATH 65001 and NEXT_HOP */
export const UPDATE_FOUR_OCTETS = `${MARKER}002f02 0000 0014 40010100 40020602010000fde9 400304c0000201 18cb0071`;
export const UPDATE_TWO_OCTETS = `${MARKER}002d02 0000 0012 40010100 4002040201fde9 400304c0000201 18cb0071`;
/** the same with path identifier 7 */
export const UPDATE_ADD_PATH = `${MARKER}003302 0000 0014 40010100 40020602010000fde9 400304c0000201 00000007 18cb0071`;

/** peers 0: 192.0.2.1 AS 65001 (two octets), 1: 2001:db8::1 AS 4200000000 */
export const PEER_INDEX = mrtRecord(
  13,
  1,
  '0a000001 0004 76696577 0002  00 0a000002 c0000201 fde9  03 0a000003 20010db8000000000000000000000001 fa56ea00',
);
const ATTRIBUTES = '40010100 40020602010000fde9 400304c0000201';
export const RIB_IPV4 = mrtRecord(
  13,
  2,
  `00000000 18 cb0071 0002  0000 6553f100 0014 ${ATTRIBUTES}  0001 6553f100 0014 ${ATTRIBUTES}`,
);
export const RIB_IPV6 = mrtRecord(
  13,
  4,
  '00000001 20 20010db8 0001  0001 6553f100 0021 40010100 40020602010000fde9 800e1110 20010db8000000000000000000000001',
);
export const RIB_ADD_PATH = mrtRecord(
  13,
  8,
  `00000000 18 cb0071 0001  0000 6553f100 00000009 0014 ${ATTRIBUTES}`,
);
