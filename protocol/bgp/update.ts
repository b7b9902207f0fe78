/**
 * The UPDATE message, from bytes and to bytes (RFC 4271 §4.3), without its header.
 *
 *   withdrawn routes length (2)  withdrawn routes  total path attribute length (2)  path attributes  NLRI
 *
 * Decoding follows RFC 7606: what was wrong and how badly is collected in `Decoding`; here the whole is judged. An UPDATE that is
 * to be treated as a withdrawal names all its routes (§2), and becomes a session reset where it names none that are
 * reachable (§5.2). Missing mandatory attributes are RFC 4271 §6.3 and RFC 4760 §3. End-of-RIB is RFC 4724 §2.
 */

import { u16At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import { decodeAttributes, encodeAttributes, encodeReachability } from './attribute.ts';
import { Decoding } from './attribute-decoding.ts';
import { Afi, AttributeCode, attributeName, ErrorCode, Safi, UpdateSubcode } from './codes.ts';
import { BgpFault, type Issue, type WithdrawnByFault } from './error.ts';
import { type FamilyId, hasUnicast, IPV4_UNICAST } from './family.ts';
import type { Nlri, PathAttributes, UpdateMessage } from './message.ts';
import type { CodecContext } from './negotiate.ts';
import { readIpv4Nlri, writeNlri } from './nlri.ts';

export interface DecodedUpdate {
  readonly message: UpdateMessage;
  readonly issues: readonly Issue[];
}

/** Reads the body between two offsets. Throws BgpFault, never anything else. */
export function decodeUpdate(
  bytes: Uint8Array,
  start: number,
  end: number,
  context: CodecContext,
): DecodedUpdate {
  if (end - start < 4) throw malformedList('the two length fields do not fit');
  const withdrawnStart = start + 2;
  const withdrawnEnd = withdrawnStart + u16At(bytes, start);
  if (withdrawnEnd + 2 > end) {
    throw malformedList('the withdrawn routes run past the end of the message');
  }
  const attributesStart = withdrawnEnd + 2;
  const attributesEnd = attributesStart + u16At(bytes, withdrawnEnd);
  if (attributesEnd > end) {
    throw malformedList('the path attributes run past the end of the message');
  }
  const withPathId = hasUnicast(context.addPathReceive, 'ipv4');
  const withdrawn = readIpv4Nlri(bytes, withdrawnStart, withdrawnEnd, withPathId);
  if (withdrawn === undefined) throw badPrefix('withdrawn routes');
  const d = new Decoding(bytes, context);
  decodeAttributes(d, attributesStart, attributesEnd);
  const nlri = readIpv4Nlri(bytes, attributesEnd, end, withPathId);
  if (nlri === undefined) throw badPrefix('NLRI');
  const reachable = nlri.length > 0 || hasReach(d);
  if (reachable) requireMandatory(d, nlri.length > 0);
  if (d.pending !== undefined) throw withdrawAll(d, withdrawn, nlri, reachable);
  return { message: { kind: 'update', withdrawn, attributes: d.build(), nlri }, issues: d.issues };
}

/** The family of a table entry, and whether its AS numbers have four octets (always so in TABLE_DUMP_V2). */
export interface RibSource extends FamilyId {
  readonly as4: boolean;
}

/**
 * Reads the attributes of one entry of an MRT table dump (RFC 6396 §4.2, §4.3.4), whose MP_REACH_NLRI is cut down to the
 * next hop. Throws BgpFault, for what would withdraw the route too; `decodeRibEntry` makes a value of it.
 */
export function decodeRibAttributes(
  bytes: Uint8Array,
  start: number,
  end: number,
  source: RibSource,
): { readonly attributes: PathAttributes; readonly issues: readonly Issue[] } {
  const d = new Decoding(bytes, source.as4 ? RIB_CONTEXT : RIB_CONTEXT_TWO_OCTETS, source);
  decodeAttributes(d, start, end);
  if (d.pending !== undefined) {
    const { subcode, data, detail } = d.pending;
    const outcome = 'treat-as-withdraw';
    throw new BgpFault({ code: ErrorCode.update, subcode, data, detail, outcome });
  }
  return { attributes: d.build(), issues: d.issues };
}

const UNICAST_AND_MULTICAST: readonly FamilyId[] = [
  IPV4_UNICAST,
  { afi: Afi.ipv4, safi: Safi.multicast },
];

const RIB_CONTEXT: CodecContext = {
  as4: true,
  extendedMessage: true,
  internal: undefined,
  addPathReceive: [],
  addPathSend: [],
  extendedNextHop: UNICAST_AND_MULTICAST,
};
const RIB_CONTEXT_TWO_OCTETS: CodecContext = { ...RIB_CONTEXT, as4: false };

function malformedList(detail: string): BgpFault {
  const subcode = UpdateSubcode.malformedAttributeList;
  return new BgpFault({ code: ErrorCode.update, subcode, detail });
}

function badPrefix(field: string): BgpFault {
  return new BgpFault({
    code: ErrorCode.update,
    subcode: UpdateSubcode.invalidNetworkField,
    detail: `${field}: a prefix is longer than 32 bits or does not fit`,
  });
}

function hasReach(d: Decoding): boolean {
  return d.mpReach !== undefined && d.mpReach.nlri.length > 0;
}

/** NEXT_HOP is for the NLRI field only, LOCAL_PREF for internal sessions (RFC 4271 §5, RFC 4760 §3). */
function requireMandatory(d: Decoding, hasNlriField: boolean): void {
  let missing = 0;
  if (!d.hasSeen(AttributeCode.origin)) missing = AttributeCode.origin;
  else if (!d.hasSeen(AttributeCode.asPath)) missing = AttributeCode.asPath;
  else if (hasNlriField && !d.hasSeen(AttributeCode.nextHop)) missing = AttributeCode.nextHop;
  else if (d.context.internal === true && !d.hasSeen(AttributeCode.localPref)) {
    missing = AttributeCode.localPref;
  }
  if (missing === 0) return;
  d.withdrawBecause({
    subcode: UpdateSubcode.missingWellKnown,
    data: Uint8Array.of(missing),
    detail: `${attributeName(missing)} is missing`,
  });
}

/** The pending fault with all routes of the message; a session reset where RFC 7606 §5.2 says so. */
function withdrawAll(
  d: Decoding,
  withdrawn: readonly Nlri[],
  nlri: readonly Nlri[],
  reachable: boolean,
): BgpFault {
  const { subcode, data, detail } = d.pending ?? {
    subcode: 0,
    data: new Uint8Array(0),
    detail: '',
  };
  const code = ErrorCode.update;
  if (!reachable) {
    return new BgpFault({ code, subcode, data, detail: `${detail}, and no route to withdraw` });
  }
  return new BgpFault({
    code,
    subcode,
    data,
    detail,
    outcome: 'treat-as-withdraw',
    withdrawn: allRoutes(d, [...withdrawn, ...nlri]),
  });
}

/** Every route that the message names, announced or withdrawn, one entry per family and field. */
function allRoutes(d: Decoding, ipv4: readonly Nlri[]): WithdrawnByFault[] {
  const all: WithdrawnByFault[] = [];
  if (ipv4.length > 0) all.push({ ...IPV4_UNICAST, nlri: ipv4 });
  const { mpReach, mpUnreach } = d;
  if (mpReach !== undefined && mpReach.nlri.length > 0) {
    all.push({ afi: mpReach.afi, safi: mpReach.safi, nlri: mpReach.nlri });
  }
  if (mpUnreach !== undefined && mpUnreach.withdrawn.length > 0) {
    all.push({ afi: mpUnreach.afi, safi: mpUnreach.safi, nlri: mpUnreach.withdrawn });
  }
  return all;
}

/** Appends the body of an UPDATE. That it fits into a message is the business of the caller. */
export function encodeUpdate(
  message: UpdateMessage,
  context: CodecContext,
  writer: ByteWriter,
): void {
  const withPathId = hasUnicast(context.addPathSend, 'ipv4');
  const withdrawnAt = writer.reserveU16();
  for (const nlri of message.withdrawn) writeNlri(writer, nlri, withPathId);
  patchLength(writer, withdrawnAt);
  const attributesAt = writer.reserveU16();
  encodeReachability(message.attributes, context, writer);
  encodeAttributes(message.attributes, context, writer);
  patchLength(writer, attributesAt);
  for (const nlri of message.nlri) writeNlri(writer, nlri, withPathId);
}

function patchLength(writer: ByteWriter, at: number): void {
  const length = writer.length - at - 2;
  if (length > 0xffff) throw new Error(`a field of ${length} octets does not fit into an UPDATE`);
  writer.patchU16(at, length);
}

/**
 * The family whose End-of-RIB this is, if it is one (RFC 4724 §2).
 *
 * @example
 * endOfRibFamily(endOfRib({ afi: 2, safi: 1 })); // { afi: 2, safi: 1 }
 */
export function endOfRibFamily(message: UpdateMessage): FamilyId | undefined {
  if (message.withdrawn.length > 0 || message.nlri.length > 0) return undefined;
  const { mpUnreach, ...others } = message.attributes;
  if (Object.keys(others).length > 0) return undefined;
  if (mpUnreach === undefined) return IPV4_UNICAST;
  if (mpUnreach.withdrawn.length > 0) return undefined;
  return { afi: mpUnreach.afi, safi: mpUnreach.safi };
}

/**
 * The End-of-RIB marker of a family: empty for IPv4 unicast, an empty MP_UNREACH_NLRI for all others.
 *
 * @example
 * encode(endOfRib({ afi: Afi.ipv4, safi: Safi.unicast }), PLAIN_CONTEXT).length; // 23
 */
export function endOfRib(family: FamilyId): UpdateMessage {
  const { afi, safi } = family;
  const isIpv4Unicast = afi === Afi.ipv4 && safi === Safi.unicast;
  const attributes: PathAttributes = isIpv4Unicast
    ? {}
    : { mpUnreach: { kind: 'prefixes', afi, safi, withdrawn: [] } };
  return { kind: 'update', withdrawn: [], attributes, nlri: [] };
}
