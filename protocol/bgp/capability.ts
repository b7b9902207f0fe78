/**
 * Capabilities of the OPEN (RFC 5492 §4): code, length, value, one after the other inside an optional parameter.
 *
 * What is unknown is kept as code and value. What is known and has an impossible length is the OPEN error 2/0, as BIRD
 * and FRR do it: those values decide how every later UPDATE is read (four-octet numbers, path identifiers, families), so
 * guessing one is worse than no session. Two exceptions, where nothing is decided by the value: a capability that
 * is a mere flag and carries octets all the same, and a host name that cannot be read; both are kept as unknown.
 * Reserved bits are ignored and written as zero. Repeated capabilities are all kept, in order (RFC 5492 §4); which of
 * them counts is said in negotiate.ts.
 */

import { ByteReader } from '../bytes/reader.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import { CapabilityCode, capabilityName, ErrorCode, OpenSubcode } from './codes.ts';
import { BgpFault } from './error.ts';
import type { Capability, GracefulRestartCapability } from './message.ts';

const RESTARTING = 0x8000;
/** RFC 8538 §2 */
const NOTIFICATION = 0x4000;
const RESTART_TIME = 0x0fff;
const FORWARDING = 0x80;

type KnownCapability = Exclude<Capability, { readonly kind: 'unknown' }>;

const CODES: Readonly<Record<KnownCapability['kind'], number>> = {
  multiprotocol: CapabilityCode.multiprotocol,
  'route-refresh': CapabilityCode.routeRefresh,
  'extended-next-hop': CapabilityCode.extendedNextHop,
  'extended-message': CapabilityCode.extendedMessage,
  role: CapabilityCode.role,
  'graceful-restart': CapabilityCode.gracefulRestart,
  'four-octet-asn': CapabilityCode.fourOctetAsn,
  'add-path': CapabilityCode.addPath,
  'enhanced-route-refresh': CapabilityCode.enhancedRouteRefresh,
  fqdn: CapabilityCode.fqdn,
};

export function capabilityCode(capability: Capability): number {
  return capability.kind === 'unknown' ? capability.code : CODES[capability.kind];
}

/** Reads capabilities up to the end of the reader and appends them to `into`. */
export function readCapabilities(reader: ByteReader, into: Capability[]): void {
  while (reader.remaining > 0) {
    if (reader.remaining < 2) throw malformed('a capability is cut off in its header');
    const code = reader.u8();
    const length = reader.u8();
    if (length > reader.remaining) {
      throw malformed(`${capabilityName(code)}: ${length} octets, ${reader.remaining} left`);
    }
    into.push(readCapability(code, reader.sub(length)));
  }
}

function readCapability(code: number, value: ByteReader): Capability {
  return readFlag(code, value) ?? readValue(code, value) ?? unknown(code, value);
}

function readFlag(code: number, value: ByteReader): Capability | undefined {
  if (value.remaining > 0) return undefined;
  switch (code) {
    case CapabilityCode.routeRefresh:
      return { kind: 'route-refresh' };
    case CapabilityCode.extendedMessage:
      return { kind: 'extended-message' };
    case CapabilityCode.enhancedRouteRefresh:
      return { kind: 'enhanced-route-refresh' };
    default:
      return undefined;
  }
}

function readValue(code: number, value: ByteReader): Capability | undefined {
  switch (code) {
    case CapabilityCode.multiprotocol:
      return readMultiprotocol(value);
    case CapabilityCode.extendedNextHop:
      return readExtendedNextHop(value);
    case CapabilityCode.role:
      checkLength(code, value, value.remaining === 1);
      return { kind: 'role', role: value.u8() };
    case CapabilityCode.gracefulRestart:
      return readGracefulRestart(value);
    case CapabilityCode.fourOctetAsn:
      checkLength(code, value, value.remaining === 4);
      return { kind: 'four-octet-asn', asn: value.u32() };
    case CapabilityCode.addPath:
      return readAddPath(value);
    case CapabilityCode.fqdn:
      return readFqdn(value);
    default:
      return undefined;
  }
}

/** RFC 4760 §8: AFI, a reserved octet, SAFI */
function readMultiprotocol(value: ByteReader): Capability {
  checkLength(CapabilityCode.multiprotocol, value, value.remaining === 4);
  const afi = value.u16();
  value.u8();
  return { kind: 'multiprotocol', afi, safi: value.u8() };
}

/** RFC 8950 §4: AFI, SAFI in two octets, AFI of the next hop */
function readExtendedNextHop(value: ByteReader): Capability {
  checkLength(CapabilityCode.extendedNextHop, value, value.remaining % 6 === 0);
  const entries = [];
  while (value.remaining > 0) {
    entries.push({ afi: value.u16(), safi: value.u16(), nextHopAfi: value.u16() });
  }
  return { kind: 'extended-next-hop', entries };
}

/** RFC 4724 §3: flags and time in two octets, then AFI, SAFI, flags of each family */
function readGracefulRestart(value: ByteReader): Capability {
  checkLength(CapabilityCode.gracefulRestart, value, value.remaining % 4 === 2);
  const head = value.u16();
  const families = [];
  while (value.remaining > 0) {
    const afi = value.u16();
    const safi = value.u8();
    families.push({ afi, safi, forwarding: (value.u8() & FORWARDING) !== 0 });
  }
  return {
    kind: 'graceful-restart',
    restarting: (head & RESTARTING) !== 0,
    notification: (head & NOTIFICATION) !== 0,
    restartTimeSeconds: head & RESTART_TIME,
    families,
  };
}

/** RFC 7911 §4: AFI, SAFI, mode; a mode that does not exist is kept here and means nothing to negotiate.ts */
function readAddPath(value: ByteReader): Capability {
  checkLength(CapabilityCode.addPath, value, value.remaining % 4 === 0);
  const entries = [];
  while (value.remaining > 0) {
    entries.push({ afi: value.u16(), safi: value.u8(), mode: value.u8() });
  }
  return { kind: 'add-path', entries };
}

/** draft-walton-bgp-hostname-capability: two strings, each behind its length */
function readFqdn(value: ByteReader): Capability | undefined {
  const copy = new ByteReader(value.bytes, value.offset, value.end);
  const host = readName(copy);
  const domain = host === undefined ? undefined : readName(copy);
  if (host === undefined || domain === undefined || copy.remaining > 0) return undefined;
  return { kind: 'fqdn', host, domain };
}

function readName(value: ByteReader): string | undefined {
  if (value.remaining < 1) return undefined;
  const length = value.u8();
  if (length > value.remaining) return undefined;
  const raw = value.take(length);
  // only what is valid UTF-8 can be written again as it came; U+FFFD in the text says that it was not
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(raw);
  return text.includes('\ufffd') ? undefined : text;
}

function unknown(code: number, value: ByteReader): Capability {
  return { kind: 'unknown', code, value: value.rest() };
}

function checkLength(code: number, value: ByteReader, good: boolean): void {
  if (!good) throw malformed(`${capabilityName(code)} of ${value.remaining} octets`);
}

function malformed(detail: string): BgpFault {
  return new BgpFault({ code: ErrorCode.open, subcode: OpenSubcode.unspecific, detail });
}

/** Writes code, length and value. */
export function writeCapability(capability: Capability, writer: ByteWriter): void {
  writer.u8(capabilityCode(capability));
  const lengthAt = writer.reserveU8();
  writeValue(capability, writer);
  const length = writer.length - lengthAt - 1;
  if (length > 255) throw new RangeError(`a ${capability.kind} capability of ${length} octets`);
  writer.patchU8(lengthAt, length);
}

function writeValue(capability: Capability, writer: ByteWriter): void {
  switch (capability.kind) {
    case 'multiprotocol':
      writer.u16(capability.afi).u8(0).u8(capability.safi);
      return;
    case 'route-refresh':
    case 'extended-message':
    case 'enhanced-route-refresh':
      return;
    case 'extended-next-hop':
      for (const entry of capability.entries) {
        writer.u16(entry.afi).u16(entry.safi).u16(entry.nextHopAfi);
      }
      return;
    case 'role':
      writer.u8(capability.role);
      return;
    case 'graceful-restart':
      writeGracefulRestart(capability, writer);
      return;
    case 'four-octet-asn':
      writer.u32(capability.asn);
      return;
    case 'add-path':
      for (const entry of capability.entries) writer.u16(entry.afi).u8(entry.safi).u8(entry.mode);
      return;
    case 'fqdn':
      writeName(capability.host, writer);
      writeName(capability.domain, writer);
      return;
    case 'unknown':
      writer.bytes(capability.value);
      return;
  }
}

function writeGracefulRestart(capability: GracefulRestartCapability, writer: ByteWriter): void {
  if (capability.restartTimeSeconds > RESTART_TIME) {
    throw new RangeError(`a restart time of ${capability.restartTimeSeconds} s is above 4095`);
  }
  const flags =
    (capability.restarting ? RESTARTING : 0) | (capability.notification ? NOTIFICATION : 0);
  writer.u16(flags | capability.restartTimeSeconds);
  for (const family of capability.families) {
    writer
      .u16(family.afi)
      .u8(family.safi)
      .u8(family.forwarding ? FORWARDING : 0);
  }
}

function writeName(text: string, writer: ByteWriter): void {
  const raw = new TextEncoder().encode(text);
  writer.u8(raw.length).bytes(raw);
}
