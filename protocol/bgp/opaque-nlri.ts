/**
 * The frames of NLRI that we do not interpret. Families beyond IPv4 and IPv6 unicast and multicast are kept as octets, but RFC 7606
 * §5.3 asks for more than that: a list whose entries do not add up cannot be withdrawn, so the session has to be reset. Here
 * are just the rules that say where one NLRI ends and the next begins, and what makes one impossible; a family without a
 * rule passes as it is.
 *
 *   labelled unicast (SAFI 4) RFC 8277, VPN (128, 129) RFC 4364 and RFC 6513: length in bits, then labels, route
 *     distinguisher, prefix
 *   flow specification (133, 134) RFC 8955 §4.1: length of one or two octets
 *   route target constraint (132) RFC 4684 §4: length in bits, 0 or 32 to 96
 *   MVPN (5) RFC 6514 §4, EVPN (AFI 25, SAFI 70) RFC 7432 §7: type and length of one octet each
 *   VPLS (AFI 25, SAFI 65) RFC 4761 §3.2.2: length of two octets
 *   link state (AFI 16388) RFC 9552 §5.2: type and length of two octets each
 *   mobile user plane (SAFI 85) draft-ietf-bess-mup-safi: architecture, type of two octets, length of one
 */

import { u8At, u16At } from '../bytes/peek.ts';
import { Afi } from './codes.ts';
import { isEvpnRoute } from './opaque-evpn.ts';

/** Where the NLRI at an offset ends, or -1 where there can be none. What it returns may lie behind `end`. */
type Frame = (bytes: Uint8Array, at: number, end: number, family: OpaqueFamily) => number;

export interface OpaqueFamily {
  readonly afi: number;
  readonly safi: number;
  /** path identifiers are in front of each NLRI (RFC 7911) */
  readonly withPathId: boolean;
  /** the list is one of withdrawn routes */
  readonly isWithdrawn: boolean;
}

const L2VPN = 25;
const LINK_STATE = 16388;
const LABEL_BITS = 24;
const DISTINGUISHER_BITS = 64;

const IP_FRAMES: ReadonlyMap<number, Frame> = new Map([
  [4, labelledFrame],
  [5, typedFrame],
  [85, mobileFrame],
  [128, labelledFrame],
  [129, distinguishedFrame],
  [132, targetFrame],
  [133, flowFrame],
  [134, flowFrame],
]);
const L2VPN_FRAMES: ReadonlyMap<number, Frame> = new Map([
  [65, lengthFrame],
  [70, evpnFrame],
]);
const LINK_STATE_FRAMES: ReadonlyMap<number, Frame> = new Map([
  [71, linkStateFrame],
  [72, linkStateFrame],
]);

function frameOf({ afi, safi }: OpaqueFamily): Frame | undefined {
  if (afi === Afi.ipv4 || afi === Afi.ipv6) return IP_FRAMES.get(safi);
  if (afi === L2VPN) return L2VPN_FRAMES.get(safi);
  if (afi === LINK_STATE) return LINK_STATE_FRAMES.get(safi);
  return undefined;
}

/** True where the entries between two offsets fill the place exactly, as far as we know the family. */
export function isWellFramed(
  bytes: Uint8Array,
  start: number,
  end: number,
  family: OpaqueFamily,
): boolean {
  const frame = frameOf(family);
  if (frame === undefined) return true;
  const skip = family.withPathId ? 4 : 0;
  let at = start;
  while (at < end) {
    if (at + skip >= end) return false;
    const next = frame(bytes, at + skip, end, family);
    if (next < 0 || next > end) return false;
    at = next;
  }
  return true;
}

function maxBits({ afi }: OpaqueFamily): number {
  return afi === Afi.ipv4 ? 32 : 128;
}

/** Length in bits; then labels up to the one with the bottom-of-stack bit, for VPNs a distinguisher, and the prefix. */
function labelledFrame(bytes: Uint8Array, at: number, end: number, family: OpaqueFamily): number {
  const length = u8At(bytes, at);
  const next = at + 1 + ((length + 7) >> 3);
  if (next > end) return -1;
  const labels = labelBits(bytes, at + 1, length, family.isWithdrawn);
  const rest = length - labels - (family.safi === 128 ? DISTINGUISHER_BITS : 0);
  return labels > 0 && rest >= 0 && rest <= maxBits(family) ? next : -1;
}

/**
 * How many bits of labels there are, 0 where the stack does not end. A withdrawal has one whose value is ignored (RFC 8277
 * §2.4).
 */
function labelBits(bytes: Uint8Array, start: number, length: number, isWithdrawn: boolean): number {
  for (let bits = LABEL_BITS; bits <= length; bits += LABEL_BITS) {
    const at = start + bits / 8 - 3;
    const label = (u8At(bytes, at) << 16) | u16At(bytes, at + 1);
    if (isWithdrawn || (label & 1) === 1 || label === 0x800000 || label === 0) return bits;
  }
  return 0;
}

function distinguishedFrame(
  bytes: Uint8Array,
  at: number,
  _end: number,
  family: OpaqueFamily,
): number {
  const length = u8At(bytes, at);
  const rest = length - DISTINGUISHER_BITS;
  return rest >= 0 && rest <= maxBits(family) ? at + 1 + ((length + 7) >> 3) : -1;
}

function targetFrame(bytes: Uint8Array, at: number): number {
  const length = u8At(bytes, at);
  return length === 0 || (length >= 32 && length <= 96) ? at + 1 + ((length + 7) >> 3) : -1;
}

/** One octet below 240, else two of which the first four bits are set. */
function flowFrame(bytes: Uint8Array, at: number, end: number): number {
  const first = u8At(bytes, at);
  if (first < 0xf0) return at + 1 + first;
  return at + 2 > end ? -1 : at + 2 + (u16At(bytes, at) & 0x0fff);
}

function typedFrame(bytes: Uint8Array, at: number, end: number): number {
  return at + 2 > end ? -1 : at + 2 + u8At(bytes, at + 1);
}

function evpnFrame(bytes: Uint8Array, at: number, end: number): number {
  const next = typedFrame(bytes, at, end);
  if (next < 0 || next > end) return -1;
  return isEvpnRoute(u8At(bytes, at), bytes.subarray(at + 2, next)) ? next : -1;
}

function lengthFrame(bytes: Uint8Array, at: number, end: number): number {
  return at + 2 > end ? -1 : at + 2 + u16At(bytes, at);
}

function linkStateFrame(bytes: Uint8Array, at: number, end: number): number {
  return at + 4 > end ? -1 : at + 4 + u16At(bytes, at + 2);
}

const MUP_3GPP_5G = 1;
const MUP_TYPE_1_SESSION = 3;

function mobileFrame(bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 > end) return -1;
  const next = at + 4 + u8At(bytes, at + 3);
  if (next > end) return -1;
  const isSession = u8At(bytes, at) === MUP_3GPP_5G && u16At(bytes, at + 1) === MUP_TYPE_1_SESSION;
  return isSession && !isSessionRoute(bytes, at + 4, next) ? -1 : next;
}

/** Distinguisher (8), prefix, TEID (4), QFI (1), endpoint, source: the last three with their lengths in bits in front. */
function isSessionRoute(bytes: Uint8Array, start: number, end: number): boolean {
  let at = skipBits(bytes, start + 8, end);
  at = skipBits(bytes, at + 5, end);
  return skipBits(bytes, at, end) === end;
}

/** Behind a length octet and as many octets as it asks for; past the end where there is no length octet. */
function skipBits(bytes: Uint8Array, at: number, end: number): number {
  return at >= end ? end + 1 : at + 1 + ((u8At(bytes, at) + 7) >> 3);
}
