/**
 * The attributes of RFC 4271 §5 and those of RFC 6793 that carry the same things in four octets: ORIGIN, AS_PATH, NEXT_HOP,
 * MULTI_EXIT_DISC, LOCAL_PREF, ATOMIC_AGGREGATE, AGGREGATOR, AS4_PATH, AS4_AGGREGATOR.
 *
 * What is malformed: RFC 7606 §7.1-7.7, RFC 6793 §6, RFC 7607 (AS 0). On a two-octet session the pair of each is written
 * where a number does not fit, and merged when it comes (`mergeFourOctets`).
 */

import { i32At, u8At, u16At, u32At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import { AS_TRANS } from '../net/asn.ts';
import {
  type AsnWidth,
  asPathSize,
  hasConfederation,
  mergeAs4Path,
  needsFourOctets,
  readAsPath,
  toTwoOctets,
  withoutConfederation,
  writeAsPath,
} from './as-path.ts';
import {
  type AttributeRow,
  type Decoding,
  OPTIONAL,
  OPTIONAL_TRANSITIVE,
  WELL_KNOWN,
} from './attribute-decoding.ts';
import { AttributeCode, UpdateSubcode } from './codes.ts';
import type { Aggregator, AsPathSegment, Origin, PathAttributes } from './message.ts';
import type { CodecContext } from './negotiate.ts';

/** indexed by the value on the wire */
const ORIGINS: readonly Origin[] = ['igp', 'egp', 'incomplete'];
const ORIGIN_CODES: Readonly<Record<Origin, number>> = { igp: 0, egp: 1, incomplete: 2 };

const origin: AttributeRow = {
  code: AttributeCode.origin,
  flags: WELL_KNOWN,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    if (end - start !== 1) return d.wrongLength(start, end, '1 octet');
    const value = ORIGINS[u8At(d.bytes, start)];
    if (value === undefined) {
      d.fail(UpdateSubcode.invalidOrigin, `value ${u8At(d.bytes, start)} is not defined`);
    } else d.origin = value;
  },
  size: (attributes) => (attributes.origin === undefined ? undefined : 1),
  encode(attributes, _context, writer) {
    writer.u8(ORIGIN_CODES[attributes.origin ?? 'incomplete']);
  },
};

const asPath: AttributeRow = {
  code: AttributeCode.asPath,
  flags: WELL_KNOWN,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    const path = readAsPath(d.bytes, start, end, width(d.context));
    if (typeof path === 'string') {
      d.fail(UpdateSubcode.malformedAsPath, path);
    } else if (d.context.internal === false && hasConfederation(path)) {
      // RFC 5065 §5: only members of a confederation may say this, and an external neighbour is none of ours
      d.fail(UpdateSubcode.malformedAsPath, 'confederation segments from an external neighbour');
    } else d.asPath = path;
  },
  size: ({ asPath: path }, context) =>
    path === undefined ? undefined : asPathSize(path, width(context)),
  encode(attributes, context, writer) {
    writeAsPath(writer, attributes.asPath ?? [], width(context));
  },
};

const nextHop: AttributeRow = {
  code: AttributeCode.nextHop,
  flags: WELL_KNOWN,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    if (end - start !== 4) return d.wrongLength(start, end, '4 octets');
    const bits = i32At(d.bytes, start);
    if (d.context.internal !== undefined && !isHostAddress(bits)) {
      d.fail(UpdateSubcode.invalidNextHop, 'not the address of a host');
    } else d.nextHop = { family: 'ipv4', bits };
  },
  size: (attributes) => (attributes.nextHop === undefined ? undefined : 4),
  encode(attributes, _context, writer) {
    writer.u32(attributes.nextHop?.bits ?? 0);
  },
};

/**
 * RFC 4271 §6.3 wants "a valid IP host address": not in 0/8, nor multicast and above. 127/8 is one, on this very host: two
 * speakers on one machine have no other (BIRD takes it too). Whether it can be reached is the business of who uses the route.
 */
function isHostAddress(bits: number): boolean {
  const first = bits >>> 24;
  return first !== 0 && first < 224;
}

const med: AttributeRow = {
  code: AttributeCode.med,
  flags: OPTIONAL,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    if (end - start !== 4) return d.wrongLength(start, end, '4 octets');
    d.med = u32At(d.bytes, start);
  },
  size: (attributes) => (attributes.med === undefined ? undefined : 4),
  encode(attributes, _context, writer) {
    writer.u32(attributes.med ?? 0);
  },
};

const localPref: AttributeRow = {
  code: AttributeCode.localPref,
  flags: WELL_KNOWN,
  onFault: 'treat-as-withdraw',
  internalOnly: true,
  decode(d, start, end) {
    if (end - start !== 4) return d.wrongLength(start, end, '4 octets');
    d.localPref = u32At(d.bytes, start);
  },
  size: (attributes) => (attributes.localPref === undefined ? undefined : 4),
  encode(attributes, _context, writer) {
    writer.u32(attributes.localPref ?? 0);
  },
};

const atomicAggregate: AttributeRow = {
  code: AttributeCode.atomicAggregate,
  flags: WELL_KNOWN,
  onFault: 'discard-attribute',
  decode(d, start, end) {
    if (end !== start) return d.wrongLength(start, end, 'none');
    d.atomicAggregate = true;
  },
  size: (attributes) => (attributes.atomicAggregate === true ? 0 : undefined),
  encode() {},
};

const aggregator: AttributeRow = {
  code: AttributeCode.aggregator,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'discard-attribute',
  decode(d, start, end) {
    const asnWidth = width(d.context);
    if (end - start !== asnWidth + 4) {
      return d.wrongLength(start, end, `${asnWidth + 4} octets`);
    }
    d.aggregator = readAggregator(d, start, asnWidth);
  },
  size: (attributes, context) =>
    attributes.aggregator === undefined ? undefined : width(context) + 4,
  encode(attributes, context, writer) {
    const value = attributes.aggregator;
    if (value !== undefined) writeAggregator(writer, value, width(context));
  },
};

const as4Path: AttributeRow = {
  code: AttributeCode.as4Path,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'discard-attribute',
  decode(d, start, end) {
    if (isOutOfPlace(d)) return;
    if (start === end) return d.wrongLength(start, end, 'at least one segment');
    const path = readAsPath(d.bytes, start, end, 4);
    if (typeof path === 'string') d.fail(UpdateSubcode.optionalAttribute, path);
    else d.as4Path = path;
  },
  size(attributes, context) {
    const path = as4PathOf(attributes, context);
    return path === undefined ? undefined : asPathSize(path, 4);
  },
  encode(attributes, context, writer) {
    writeAsPath(writer, as4PathOf(attributes, context) ?? [], 4);
  },
};

const as4Aggregator: AttributeRow = {
  code: AttributeCode.as4Aggregator,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'discard-attribute',
  decode(d, start, end) {
    if (isOutOfPlace(d)) return;
    if (end - start !== 8) return d.wrongLength(start, end, '8 octets');
    d.as4Aggregator = readAggregator(d, start, 4);
  },
  size: (attributes, context) =>
    as4AggregatorOf(attributes, context) === undefined ? undefined : 8,
  encode(attributes, context, writer) {
    const value = as4AggregatorOf(attributes, context);
    if (value !== undefined) writeAggregator(writer, value, 4);
  },
};

export const PATH_ROWS: readonly AttributeRow[] = [
  origin,
  asPath,
  nextHop,
  med,
  localPref,
  atomicAggregate,
  aggregator,
  as4Path,
  as4Aggregator,
];

function width(context: CodecContext): AsnWidth {
  return context.as4 ? 4 : 2;
}

function readAggregator(d: Decoding, start: number, asnWidth: AsnWidth): Aggregator | undefined {
  const asn = asnWidth === 4 ? u32At(d.bytes, start) : u16At(d.bytes, start);
  if (asn === 0) {
    d.fail(UpdateSubcode.optionalAttribute, 'AS number 0');
    return undefined;
  }
  return { asn, address: { family: 'ipv4', bits: i32At(d.bytes, start + asnWidth) } };
}

function writeAggregator(writer: ByteWriter, value: Aggregator, asnWidth: AsnWidth): void {
  if (asnWidth === 4) writer.u32(value.asn);
  else writer.u16(toTwoOctets(value.asn));
  writer.u32(value.address.bits);
}

/** Between two speakers of four octets AS4_PATH and AS4_AGGREGATOR are dropped (RFC 6793 §4.1). */
function isOutOfPlace(d: Decoding): boolean {
  if (!d.context.as4 || d.context.internal === undefined) return false;
  d.fail(UpdateSubcode.optionalAttribute, 'not expected on a session with four-octet AS numbers');
  return true;
}

function as4PathOf(
  attributes: PathAttributes,
  context: CodecContext,
): readonly AsPathSegment[] | undefined {
  if (attributes.as4Path !== undefined) return attributes.as4Path;
  const path = attributes.asPath;
  if (context.as4 || path === undefined) return undefined;
  const outside = withoutConfederation(path);
  return needsFourOctets(outside) ? outside : undefined;
}

function as4AggregatorOf(
  attributes: PathAttributes,
  context: CodecContext,
): Aggregator | undefined {
  if (attributes.as4Aggregator !== undefined) return attributes.as4Aggregator;
  const value = attributes.aggregator;
  return !context.as4 && value !== undefined && value.asn > 0xffff ? value : undefined;
}

/**
 * Puts the four-octet numbers back into what came on a two-octet session (RFC 6793 §4.2.3). An AGGREGATOR that is not
 * AS_TRANS beside an AS4_AGGREGATOR was set behind it by a speaker of two octets, so that both AS4 attributes are stale.
 */
export function mergeFourOctets(d: Decoding): void {
  const { as4Path: path, as4Aggregator: newer, aggregator: older } = d;
  d.as4Path = undefined;
  d.as4Aggregator = undefined;
  if (newer !== undefined && older !== undefined) {
    if (older.asn !== AS_TRANS) return;
    d.aggregator = newer;
  }
  if (path !== undefined && d.asPath !== undefined) d.asPath = mergeAs4Path(d.asPath, path);
}
