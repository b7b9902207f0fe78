/**
 * BGP4MP and BGP4MP_ET records: messages and state changes of sessions (RFC 6396 §4.4, RFC 8050 §3).
 *
 *   peer AS (2/4)  local AS (2/4)  interface (2)  AFI (2)  peer address  local address  message | old state (2) new state (2)
 */

import { Afi } from '../bgp/codes.ts';
import { u16At, u32At } from '../bytes/peek.ts';
import { type Address, ipv4At, ipv6At } from '../net/address.ts';
import type { MrtHeader, MrtMalformed, MrtMessage, MrtRecord, MrtStateChange } from './record.ts';

/** What a subtype says about the record. */
interface Layout {
  readonly isMessage: boolean;
  readonly as4: boolean;
  readonly isLocal: boolean;
  readonly addPath: boolean;
}

const STATE_CHANGE: Layout = { isMessage: false, as4: false, isLocal: false, addPath: false };
const MESSAGE: Layout = { isMessage: true, as4: false, isLocal: false, addPath: false };

/** indexed by subtype */
const LAYOUTS: readonly (Layout | undefined)[] = [
  STATE_CHANGE,
  MESSAGE,
  undefined,
  undefined,
  { ...MESSAGE, as4: true },
  { ...STATE_CHANGE, as4: true },
  { ...MESSAGE, isLocal: true },
  { ...MESSAGE, as4: true, isLocal: true },
  { ...MESSAGE, addPath: true },
  { ...MESSAGE, as4: true, addPath: true },
  { ...MESSAGE, isLocal: true, addPath: true },
  { ...MESSAGE, as4: true, isLocal: true, addPath: true },
];

/** Reads the body of a record between two offsets. */
export function readBgp4mp(
  header: MrtHeader,
  bytes: Uint8Array,
  start: number,
  end: number,
): MrtRecord {
  const { seconds, micros, type, subtype } = header;
  const layout = LAYOUTS[subtype];
  if (layout === undefined) return { kind: 'unknown', ...header, length: end - start };
  const asnWidth = layout.as4 ? 4 : 2;
  const afiAt = start + 2 * asnWidth + 2;
  const afi = afiAt + 2 > end ? 0 : u16At(bytes, afiAt);
  const addressLength = afi === Afi.ipv4 ? 4 : 16;
  const bodyAt = afiAt + 2 + 2 * addressLength;
  if ((afi !== Afi.ipv4 && afi !== Afi.ipv6) || bodyAt > end) return tooShort(header);
  const peer = {
    address: readAddress(bytes, afiAt + 2, afi),
    asn: layout.as4 ? u32At(bytes, start) : u16At(bytes, start),
  };
  const local = {
    address: readAddress(bytes, afiAt + 2 + addressLength, afi),
    asn: layout.as4 ? u32At(bytes, start + 4) : u16At(bytes, start + 2),
  };
  if (!layout.isMessage) {
    if (bodyAt + 4 > end) return tooShort(header);
    const from = u16At(bytes, bodyAt);
    const to = u16At(bytes, bodyAt + 2);
    const change: MrtStateChange = { kind: 'state-change', ...header, peer, local, from, to };
    return change;
  }
  // written out instead of spread: this is the record that comes a million times
  const message: MrtMessage = {
    kind: 'message',
    seconds,
    micros,
    type,
    subtype,
    peer,
    local,
    as4: layout.as4,
    addPath: layout.addPath,
    isLocal: layout.isLocal,
    bytes,
    start: bodyAt,
    end,
  };
  return message;
}

function tooShort(header: MrtHeader): MrtMalformed {
  const detail = 'the record ends inside the description of its session';
  return { kind: 'malformed', ...header, detail };
}

/** The caller has checked that it fits. */
export function readAddress(bytes: Uint8Array, at: number, afi: number): Address {
  return afi === Afi.ipv4 ? ipv4At(bytes, at) : ipv6At(bytes, at);
}
