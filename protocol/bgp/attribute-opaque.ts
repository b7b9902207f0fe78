/**
 * Attributes that we check and do not interpret: they stay among the unknown ones, octet by octet, but what their RFCs call
 * malformed is treated as these say. AIGP (RFC 7311 §3), BGP Prefix-SID (RFC 8669 §6), ATTR_SET (RFC 6368, RFC 7606 §7.16).
 */

import { u16At } from '../bytes/peek.ts';
import {
  type AttributeRow,
  type Decoding,
  OPTIONAL,
  OPTIONAL_TRANSITIVE,
} from './attribute-decoding.ts';
import { AttributeCode, UpdateSubcode } from './codes.ts';

/** Written with the unknown attributes, never by their own rows. */
const KEPT = {
  size: () => undefined,
  encode() {},
} as const;

const aigp: AttributeRow = {
  code: AttributeCode.aigp,
  flags: OPTIONAL,
  onFault: 'discard-attribute',
  // RFC 7311 §3: a transitive one is malformed like any other
  discardOnFlags: true,
  decode(d, start, end) {
    // its TLV lengths count type and length too
    keepTlvs(d, start, end, 0);
  },
  ...KEPT,
};

const prefixSid: AttributeRow = {
  code: AttributeCode.prefixSid,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'discard-attribute',
  decode(d, start, end) {
    keepTlvs(d, start, end, TLV_HEAD);
  },
  ...KEPT,
};

const attrSet: AttributeRow = {
  code: AttributeCode.attrSet,
  flags: OPTIONAL_TRANSITIVE,
  onFault: 'treat-as-withdraw',
  decode(d, start, end) {
    if (end - start < 4) {
      d.fail(UpdateSubcode.attributeLength, 'no room for the AS number in front');
    } else d.keep(start);
  },
  ...KEPT,
};

export const OPAQUE_ROWS: readonly AttributeRow[] = [aigp, prefixSid, attrSet];

/** type (1), length (2) */
const TLV_HEAD = 3;

/** Keeps the attribute if its TLVs fill it exactly; `uncounted` octets of each are not in its length field. */
function keepTlvs(d: Decoding, start: number, end: number, uncounted: number): void {
  let at = start;
  while (at + TLV_HEAD <= end) {
    const length = u16At(d.bytes, at + 1) + uncounted;
    if (length < TLV_HEAD) break;
    at += length;
  }
  if (at === end && end > start) d.keep(start);
  else d.fail(UpdateSubcode.attributeLength, 'its TLVs do not add up');
}
