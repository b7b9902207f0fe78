/**
 * ROUTE-REFRESH (RFC 2918 §3, RFC 7313 §3.2): AFI, subtype, SAFI. The subtype was a reserved octet before RFC 7313, so
 * old speakers mean 0, request, by it.
 *
 * Behind a request may stand ORF entries (RFC 5291 §4), which we keep and do not read. Behind begin and end of
 * an enhanced refresh nothing may stand: 7/1 with the whole message as data (RFC 7313 §5). An unknown subtype is decoded like any
 * other; the session ignores it.
 */

import { u8At, u16At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import { ErrorCode, HEADER_LENGTH, RouteRefreshSubcode } from './codes.ts';
import { BgpFault } from './error.ts';
import type { RouteRefreshMessage } from './message.ts';

/** RFC 7313 §3.2 */
export const RefreshSubtype = { request: 0, begin: 1, end: 2 } as const;

const BODY_LENGTH = 4;

/** Reads the octets behind the header, of which there are four at least; the header itself stands before `start`. */
export function decodeRouteRefresh(
  bytes: Uint8Array,
  start: number,
  end: number,
): RouteRefreshMessage {
  const afi = u16At(bytes, start);
  const subtype = u8At(bytes, start + 2);
  const safi = u8At(bytes, start + 3);
  if (end - start === BODY_LENGTH) return { kind: 'route-refresh', afi, safi, subtype };
  if (subtype === RefreshSubtype.begin || subtype === RefreshSubtype.end) {
    throw new BgpFault({
      code: ErrorCode.routeRefresh,
      subcode: RouteRefreshSubcode.invalidLength,
      data: bytes.slice(start - HEADER_LENGTH, end),
      detail: `ROUTE-REFRESH of subtype ${subtype} with ${end - start} octets`,
    });
  }
  const data = bytes.slice(start + BODY_LENGTH, end);
  return { kind: 'route-refresh', afi, safi, subtype, data };
}

export function encodeRouteRefresh(message: RouteRefreshMessage, writer: ByteWriter): void {
  writer.u16(message.afi).u8(message.subtype).u8(message.safi);
  if (message.data !== undefined) writer.bytes(message.data);
}
