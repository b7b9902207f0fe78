/**
 * The records of an MRT file (RFC 6396, RFC 8050) as data. Types only, and the names of the numbers.
 *
 * A record that holds a message or attributes points into the bytes that the reader was given (`bytes`, `start`, `end`) instead of
 * copying them: a table of a million routes is read once and decoded at once. Whoever keeps such a record keeps its chunk.
 */

import type { Nlri } from '../bgp/message.ts';
import type { Address } from '../net/address.ts';

export const MrtType = { tableDump: 12, tableDumpV2: 13, bgp4mp: 16, bgp4mpEt: 17 } as const;

/** When it was written and what it says it is. */
export interface MrtHeader {
  readonly seconds: number;
  /** 0 but in the extended timestamp types */
  readonly micros: number;
  readonly type: number;
  readonly subtype: number;
}

export interface MrtPeer {
  readonly address: Address;
  readonly asn: number;
}

/** A BGP message as it was seen on a session. */
export interface MrtMessage extends MrtHeader {
  readonly kind: 'message';
  readonly peer: MrtPeer;
  readonly local: MrtPeer;
  readonly as4: boolean;
  readonly addPath: boolean;
  /** sent by the collector itself */
  readonly isLocal: boolean;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** The session changed its state (RFC 6396 §4.4.1: 1 idle … 6 established). */
export interface MrtStateChange extends MrtHeader {
  readonly kind: 'state-change';
  readonly peer: MrtPeer;
  readonly local: MrtPeer;
  readonly from: number;
  readonly to: number;
}

/** The peers that the entries of the following RIB records name by their index. */
export interface MrtPeerIndex extends MrtHeader {
  readonly kind: 'peer-index';
  readonly collectorId: number;
  readonly viewName: string;
  readonly peers: readonly MrtPeer[];
}

/** One destination and what each peer said about it. */
export interface MrtRib extends MrtHeader {
  readonly kind: 'rib';
  readonly afi: number;
  readonly safi: number;
  readonly prefix: Nlri;
  readonly as4: boolean;
  readonly entries: readonly MrtRibEntry[];
  readonly bytes: Uint8Array;
}

export interface MrtRibEntry {
  /** undefined where the index names nobody */
  readonly peer: MrtPeer | undefined;
  readonly originatedSeconds: number;
  readonly pathId?: number;
  /** where its attributes are in the `bytes` of the record */
  readonly start: number;
  readonly end: number;
}

/** A record of a type that we do not read. */
export interface MrtUnknown extends MrtHeader {
  readonly kind: 'unknown';
  readonly length: number;
}

/** A record that ends too early or contradicts itself. The reader goes on with the next one if it can find it. */
export interface MrtMalformed extends MrtHeader {
  readonly kind: 'malformed';
  readonly detail: string;
}

export type MrtRecord =
  | MrtMessage
  | MrtStateChange
  | MrtPeerIndex
  | MrtRib
  | MrtUnknown
  | MrtMalformed;

const BGP4MP_NAMES: readonly (string | undefined)[] = [
  'STATE_CHANGE',
  'MESSAGE',
  undefined,
  undefined,
  'MESSAGE_AS4',
  'STATE_CHANGE_AS4',
  'MESSAGE_LOCAL',
  'MESSAGE_AS4_LOCAL',
  'MESSAGE_ADDPATH',
  'MESSAGE_AS4_ADDPATH',
  'MESSAGE_LOCAL_ADDPATH',
  'MESSAGE_AS4_LOCAL_ADDPATH',
];

const TABLE_DUMP_V2_NAMES: readonly (string | undefined)[] = [
  undefined,
  'PEER_INDEX_TABLE',
  'RIB_IPV4_UNICAST',
  'RIB_IPV4_MULTICAST',
  'RIB_IPV6_UNICAST',
  'RIB_IPV6_MULTICAST',
  'RIB_GENERIC',
  undefined,
  'RIB_IPV4_UNICAST_ADDPATH',
  'RIB_IPV4_MULTICAST_ADDPATH',
  'RIB_IPV6_UNICAST_ADDPATH',
  'RIB_IPV6_MULTICAST_ADDPATH',
  'RIB_GENERIC_ADDPATH',
];

/**
 * As RFC 6396 and RFC 8050 name type and subtype together, or the two numbers.
 *
 * @example
 * mrtTypeName({ type: 16, subtype: 4 }); // 'BGP4MP_MESSAGE_AS4'
 */
export function mrtTypeName({ type, subtype }: Pick<MrtHeader, 'type' | 'subtype'>): string {
  switch (type) {
    case MrtType.bgp4mp:
      return `BGP4MP_${BGP4MP_NAMES[subtype] ?? subtype}`;
    case MrtType.bgp4mpEt:
      return `BGP4MP_ET_${BGP4MP_NAMES[subtype] ?? subtype}`;
    case MrtType.tableDumpV2:
      return TABLE_DUMP_V2_NAMES[subtype] ?? `TABLE_DUMP_V2_${subtype}`;
    case MrtType.tableDump:
      return 'TABLE_DUMP';
    default:
      return `MRT_${type}_${subtype}`;
  }
}
