/**
 * What a neighbour did wrong, as a value. Inside the codec `BgpFault` is thrown; decode() catches exactly that class
 * and returns it. One fault is one NOTIFICATION (RFC 4271 §6) or, for an UPDATE, one of the gentler outcomes of
 * RFC 7606 §2. When several things are wrong with one UPDATE the strongest outcome wins (RFC 7606 §3 h).
 */

import type { Nlri } from './message.ts';

/** What becomes of an UPDATE with a malformed attribute (RFC 7606 §2), from gentle to strong. */
export type Outcome = 'discard-attribute' | 'treat-as-withdraw' | 'reset';

/** With the gentlest the message stands, so that it is an `Issue` beside it and no fault. */
export type FaultOutcome = Exclude<Outcome, 'discard-attribute'>;

/** An attribute that was dropped while the rest of the UPDATE stands (RFC 7606 attribute discard). */
export interface Issue {
  /** attribute type code */
  readonly attribute: number;
  /** the UPDATE error subcode that RFC 4271 §6.3 would have given it */
  readonly code: number;
  readonly outcome: 'discard-attribute';
  readonly detail: string;
}

/** Families that a fault of outcome treat-as-withdraw takes down, beyond the IPv4 NLRI field. */
export interface WithdrawnByFault {
  readonly afi: number;
  readonly safi: number;
  /** prefixes, or the opaque bytes of a family that we do not interpret */
  readonly nlri: readonly Nlri[] | Uint8Array;
}

export interface FaultInit {
  readonly code: number;
  readonly subcode: number;
  readonly data?: Uint8Array;
  readonly detail: string;
  readonly outcome?: FaultOutcome;
  readonly withdrawn?: readonly WithdrawnByFault[];
}

const NO_DATA = new Uint8Array(0);

/**
 * What a neighbour did wrong, with the NOTIFICATION that it deserves.
 *
 * @example
 * new BgpFault({ code: ErrorCode.cease, subcode: CeaseSubcode.outOfResources, detail: 'no memory left' });
 */
export class BgpFault extends Error {
  readonly code: number;
  readonly subcode: number;
  /** the Data field of the NOTIFICATION */
  readonly data: Uint8Array;
  readonly detail: string;
  readonly outcome: FaultOutcome;
  /** with outcome treat-as-withdraw: every route of that UPDATE, announced and withdrawn alike, per family */
  readonly withdrawn: readonly WithdrawnByFault[];

  constructor(init: FaultInit) {
    super(init.detail);
    this.name = 'BgpFault';
    this.code = init.code;
    this.subcode = init.subcode;
    this.data = init.data ?? NO_DATA;
    this.detail = init.detail;
    this.outcome = init.outcome ?? 'reset';
    this.withdrawn = init.withdrawn ?? [];
  }
}
