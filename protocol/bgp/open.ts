/**
 * The OPEN message (RFC 4271 §4.2) and what can be wrong with it on its own (§6.2). What depends on our own
 * configuration (is this the AS that we expect, do we share a family) is negotiate.ts.
 *
 * ```
 * | version: 1 | my AS: 2 | hold time: 2 | BGP identifier: 4 | length of parameters: 1 | parameters |
 * | ...                                                     | 255 | 255 | length: 2   | parameters |   RFC 9072
 * ```
 *
 * Each parameter is type, length, value; the length has two octets in the form of RFC 9072. Capabilities (type 2) may
 * be spread over any number of parameters (RFC 5492 §4); we write them into one. Every other type is 2/4: RFC 4271
 * §6.2 leaves no choice, and none has ever been in use.
 */

import { ByteReader } from '../bytes/reader.ts';
import { ByteWriter } from '../bytes/writer.ts';
import { readCapabilities, writeCapability } from './capability.ts';
import { ErrorCode, OpenSubcode } from './codes.ts';
import { BgpFault } from './error.ts';
import type { Capability, OpenMessage } from './message.ts';

export const BGP_VERSION = 4;
const CAPABILITIES = 2;
/** RFC 9072 §2: as the type of the first parameter it announces the longer form */
const EXTENDED_LENGTH = 255;

/** Reads the octets behind the header. Throws `BgpFault`. */
export function decodeOpen(bytes: Uint8Array, start: number, end: number): OpenMessage {
  const reader = new ByteReader(bytes, start, end);
  const version = reader.u8();
  if (version !== BGP_VERSION) throw unsupportedVersion(version);
  const asn = reader.u16();
  const holdTimeSeconds = reader.u16();
  const routerId = reader.u32();
  const capabilities = readParameters(reader);
  const message: OpenMessage = {
    kind: 'open',
    version,
    asn,
    holdTimeSeconds,
    routerId,
    capabilities,
  };
  checkFields(message);
  return message;
}

function checkFields(message: OpenMessage): void {
  if (message.asn === 0 || advertisedAsn(message.capabilities) === 0) {
    // RFC 7607 §2
    throw fault(OpenSubcode.badPeerAs, 'AS number 0');
  }
  if (message.holdTimeSeconds === 1 || message.holdTimeSeconds === 2) {
    const detail = `a hold time of ${message.holdTimeSeconds} s is neither 0 nor at least 3`;
    throw fault(OpenSubcode.unacceptableHoldTime, detail);
  }
  // RFC 6286 §2.2 leaves zero as the only identifier that is bad for everyone
  if (message.routerId === 0) throw fault(OpenSubcode.badIdentifier, 'BGP identifier 0.0.0.0');
}

/** The number of the four-octet AS capability (RFC 6793 §3), the last one where there are several. */
export function advertisedAsn(capabilities: readonly Capability[]): number | undefined {
  return capabilities.findLast((capability) => capability.kind === 'four-octet-asn')?.asn;
}

function readParameters(reader: ByteReader): readonly Capability[] {
  const capabilities: Capability[] = [];
  const length = reader.u8();
  const extended = length > 0 && reader.bytes[reader.offset] === EXTENDED_LENGTH;
  if (extended && reader.remaining >= 3) {
    reader.u8();
    checkRemaining(reader, reader.u16());
  } else {
    checkRemaining(reader, length);
  }
  while (reader.remaining > 0) readParameter(reader, extended, capabilities);
  return capabilities;
}

function checkRemaining(reader: ByteReader, length: number): void {
  if (length === reader.remaining) return;
  const detail = `${length} octets of optional parameters announced, ${reader.remaining} there`;
  throw fault(OpenSubcode.unspecific, detail);
}

function readParameter(reader: ByteReader, extended: boolean, into: Capability[]): void {
  const header = extended ? 3 : 2;
  if (reader.remaining < header) {
    throw fault(OpenSubcode.unspecific, 'an optional parameter is cut off in its header');
  }
  const type = reader.u8();
  const length = extended ? reader.u16() : reader.u8();
  if (length > reader.remaining) {
    const detail = `optional parameter ${type}: ${length} octets, ${reader.remaining} left`;
    throw fault(OpenSubcode.unspecific, detail);
  }
  if (type !== CAPABILITIES) {
    throw fault(OpenSubcode.unsupportedParameter, `optional parameter of type ${type}`);
  }
  readCapabilities(reader.sub(length), into);
}

function fault(subcode: number, detail: string): BgpFault {
  return new BgpFault({ code: ErrorCode.open, subcode, detail });
}

/** The Data field is the version that we speak, in two octets (RFC 4271 §6.2). */
function unsupportedVersion(version: number): BgpFault {
  return new BgpFault({
    code: ErrorCode.open,
    subcode: OpenSubcode.unsupportedVersion,
    data: Uint8Array.of(0, BGP_VERSION),
    detail: `version ${version}`,
  });
}

/** Writes the octets behind the header. RFC 9072 only where the parameters need it: older speakers do not know it. */
export function encodeOpen(message: OpenMessage, writer: ByteWriter): void {
  writer.u8(message.version).u16(message.asn).u16(message.holdTimeSeconds).u32(message.routerId);
  const capabilities = new ByteWriter();
  for (const capability of message.capabilities) writeCapability(capability, capabilities);
  const parameters = (message.otherParameters ?? []).map(({ type, value }) => ({ type, value }));
  if (capabilities.length > 0) {
    parameters.push({ type: CAPABILITIES, value: capabilities.finish() });
  }
  const short = parameters.reduce((sum, { value }) => sum + 2 + value.length, 0);
  if (short <= 255) {
    writer.u8(short);
    for (const { type, value } of parameters) writer.u8(type).u8(value.length).bytes(value);
    return;
  }
  writer
    .u8(EXTENDED_LENGTH)
    .u8(EXTENDED_LENGTH)
    .u16(short + parameters.length);
  for (const { type, value } of parameters) writer.u8(type).u16(value.length).bytes(value);
}
