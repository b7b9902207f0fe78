/**
 * The attributes of one UPDATE while they are read, and what was wrong with them so far. One object per message, filled by
 * the rows of the attribute table (attribute.ts).
 *
 * RFC 7606 §2 knows four answers to a bad attribute. `reset` ends everything and is thrown at once; `treat-as-withdraw` is
 * kept until all routes of the message are known, since it has to name them; `discard-attribute` becomes an issue beside a
 * good message. Of several the strongest wins (§3 h), of equals the first.
 */

import { u8At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import type { Ipv4Address } from '../net/address.ts';
import { AttributeFlag, attributeName, ErrorCode, UpdateSubcode } from './codes.ts';
import { BgpFault, type Issue, type Outcome } from './error.ts';
import type { FamilyId } from './family.ts';
import type {
  Aggregator,
  AsPathSegment,
  ExtendedCommunity,
  LargeCommunity,
  MpReach,
  MpUnreach,
  Origin,
  PathAttributes,
  UnknownAttribute,
} from './message.ts';
import type { CodecContext } from './negotiate.ts';

/** A fault of outcome treat-as-withdraw that waits for the routes it takes down. */
export interface PendingFault {
  readonly subcode: number;
  readonly data: Uint8Array;
  readonly detail: string;
}

const NO_ISSUES: readonly Issue[] = Object.freeze([]);
const NO_DATA = new Uint8Array(0);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class Decoding {
  readonly bytes: Uint8Array;
  readonly context: CodecContext;
  /** set for entries of a TABLE_DUMP_V2 file, whose MP_REACH_NLRI holds the next hop alone (RFC 6396 §4.3.4) */
  readonly ribFamily: FamilyId | undefined;

  /** the attribute at hand: its row, its code, where its flags octet is, and where it ends */
  row: AttributeRow | undefined = undefined;
  code = 0;
  head = 0;
  end = 0;

  origin: Origin | undefined = undefined;
  asPath: readonly AsPathSegment[] | undefined = undefined;
  nextHop: Ipv4Address | undefined = undefined;
  med: number | undefined = undefined;
  localPref: number | undefined = undefined;
  atomicAggregate: boolean | undefined = undefined;
  aggregator: Aggregator | undefined = undefined;
  communities: readonly number[] | undefined = undefined;
  originatorId: Ipv4Address | undefined = undefined;
  clusterList: readonly Ipv4Address[] | undefined = undefined;
  mpReach: MpReach | undefined = undefined;
  mpUnreach: MpUnreach | undefined = undefined;
  extendedCommunities: readonly ExtendedCommunity[] | undefined = undefined;
  as4Path: readonly AsPathSegment[] | undefined = undefined;
  as4Aggregator: Aggregator | undefined = undefined;
  ipv6ExtendedCommunities: readonly Uint8Array[] | undefined = undefined;
  largeCommunities: readonly LargeCommunity[] | undefined = undefined;
  otc: number | undefined = undefined;
  unknown: UnknownAttribute[] | undefined = undefined;

  /** the first fault of outcome treat-as-withdraw */
  pending: PendingFault | undefined = undefined;
  #issues: Issue[] | undefined = undefined;

  // attribute codes that came already: bits of 0-31 and of 32-63, the rest in a set
  #seenLow = 0;
  #seenMiddle = 0;
  #seenHigh: Set<number> | undefined = undefined;

  constructor(bytes: Uint8Array, context: CodecContext, ribFamily?: FamilyId) {
    this.bytes = bytes;
    this.context = context;
    this.ribFamily = ribFamily;
  }

  /** True the second time that a code comes; remembers it. */
  isRepeated(code: number): boolean {
    if (code < 32) {
      const before = this.#seenLow;
      this.#seenLow = before | (1 << code);
      return this.#seenLow === before;
    }
    if (code < 64) {
      const before = this.#seenMiddle;
      this.#seenMiddle = before | (1 << (code - 32));
      return this.#seenMiddle === before;
    }
    return this.#isRepeatedHigh(code);
  }

  #isRepeatedHigh(code: number): boolean {
    this.#seenHigh ??= new Set();
    if (this.#seenHigh.has(code)) return true;
    this.#seenHigh.add(code);
    return false;
  }

  /** True where the code came at all, well formed or not. */
  hasSeen(code: number): boolean {
    return (this.#seenLow & (1 << code)) !== 0;
  }

  /** the attributes that were dropped */
  get issues(): readonly Issue[] {
    return this.#issues ?? NO_ISSUES;
  }

  /** Keeps the attribute at hand as octets. */
  keep(valueStart: number): void {
    const { code, head, end, bytes } = this;
    this.unknown ??= [];
    this.unknown.push({ code, flags: u8At(bytes, head), value: bytes.slice(valueStart, end) });
  }

  /** The attribute at hand is malformed: what that means is in its row. */
  fail(subcode: UpdateSubcode, detail: string): void {
    const row = this.row;
    const text = row === undefined ? detail : `${attributeName(row.code)}: ${detail}`;
    switch (row?.onFault) {
      case 'discard-attribute':
        this.discard(subcode, text);
        break;
      case 'reset':
        this.reset(subcode, text);
        break;
      default:
        this.withdraw(subcode, text);
    }
  }

  /** Its length conflicts with what the code demands: RFC 4271 §6.3 subcode 5, outcome as the row says. */
  wrongLength(start: number, end: number, wanted: string): void {
    this.fail(UpdateSubcode.attributeLength, `length ${end - start}, wanted ${wanted}`);
  }

  /** Drops the attribute at hand and goes on (RFC 7606 §2 attribute discard). */
  discard(subcode: UpdateSubcode, detail: string): void {
    this.#issues ??= [];
    this.#issues.push({
      attribute: this.code,
      code: subcode,
      outcome: 'discard-attribute',
      detail,
    });
  }

  /** The whole message will be treated as a withdrawal of its routes. The attribute at hand goes into the data field. */
  withdraw(subcode: UpdateSubcode, detail: string): void {
    this.pending ??= { subcode, data: this.#faultData(subcode), detail };
  }

  /** The same for what is not about the attribute at hand. */
  withdrawBecause(fault: PendingFault): void {
    this.pending ??= fault;
  }

  /** Nothing of this message can be trusted: the session ends. */
  reset(subcode: UpdateSubcode, detail: string): never {
    throw new BgpFault({
      code: ErrorCode.update,
      subcode,
      data: this.#faultData(subcode),
      detail,
    });
  }

  /** RFC 4271 §6.3: subcodes 1, 10 and 11 carry no data, the others the attribute: type, length and value. */
  #faultData(subcode: UpdateSubcode): Uint8Array {
    switch (subcode) {
      case UpdateSubcode.malformedAttributeList:
      case UpdateSubcode.invalidNetworkField:
      case UpdateSubcode.malformedAsPath:
        return NO_DATA;
      default:
        return this.bytes.slice(this.head, this.end);
    }
  }

  /**
   * The attributes as a value. A field that did not come is absent, not undefined; fields are always added in this order, so
   * that messages with the same attributes share a shape.
   */
  build(): PathAttributes {
    const built: Mutable<PathAttributes> = {};
    if (this.origin !== undefined) built.origin = this.origin;
    if (this.asPath !== undefined) built.asPath = this.asPath;
    if (this.nextHop !== undefined) built.nextHop = this.nextHop;
    if (this.med !== undefined) built.med = this.med;
    if (this.localPref !== undefined) built.localPref = this.localPref;
    if (this.atomicAggregate !== undefined) built.atomicAggregate = this.atomicAggregate;
    if (this.aggregator !== undefined) built.aggregator = this.aggregator;
    if (this.communities !== undefined) built.communities = this.communities;
    if (this.mpReach !== undefined) built.mpReach = this.mpReach;
    if (this.mpUnreach !== undefined) built.mpUnreach = this.mpUnreach;
    if (this.extendedCommunities !== undefined) {
      built.extendedCommunities = this.extendedCommunities;
    }
    if (this.largeCommunities !== undefined) built.largeCommunities = this.largeCommunities;
    this.#buildRare(built);
    return built;
  }

  #buildRare(built: Mutable<PathAttributes>): void {
    if (this.originatorId !== undefined) built.originatorId = this.originatorId;
    if (this.clusterList !== undefined) built.clusterList = this.clusterList;
    if (this.as4Path !== undefined) built.as4Path = this.as4Path;
    if (this.as4Aggregator !== undefined) built.as4Aggregator = this.as4Aggregator;
    if (this.ipv6ExtendedCommunities !== undefined) {
      built.ipv6ExtendedCommunities = this.ipv6ExtendedCommunities;
    }
    if (this.otc !== undefined) built.otc = this.otc;
    if (this.unknown !== undefined) built.unknown = this.unknown;
  }
}

/** What the Optional and Transitive bits of an attribute must be (RFC 4271 §5). */
export const WELL_KNOWN = AttributeFlag.transitive;
export const OPTIONAL = AttributeFlag.optional;
export const OPTIONAL_TRANSITIVE = AttributeFlag.optional | AttributeFlag.transitive;

/** One row of the attribute table: all that the codec has to know about an attribute. */
export interface AttributeRow {
  readonly code: number;
  /** the Optional and Transitive bits that it must have */
  readonly flags: number;
  /** what becomes of an UPDATE whose attribute of this code is malformed (RFC 7606 §7) */
  readonly onFault: Outcome;
  /** dropped when it comes from an external neighbour */
  readonly internalOnly?: true;
  /** its RFC wants it dropped where flags are wrong, for which RFC 7606 §3 c leaves room */
  readonly discardOnFlags?: true;
  /** reads the value between two offsets into the decoding */
  decode(d: Decoding, start: number, end: number): void;
  /** how many octets the value will have, or undefined where this set of attributes has none of it */
  size(attributes: PathAttributes, context: CodecContext): number | undefined;
  /** writes exactly that many */
  encode(attributes: PathAttributes, context: CodecContext, writer: ByteWriter): void;
}
