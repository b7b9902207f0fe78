/**
 * The words for the numbers of codes.ts, as the IANA registries and the RFCs spell them: for logs, `herald decode` and
 * the text beside a NOTIFICATION. An unknown number is named by itself, so a name always comes back.
 */

import { MessageType } from './codes.ts';

type Names = Readonly<Record<number, string>>;

const MESSAGE_TYPES: Names = {
  [MessageType.open]: 'OPEN',
  [MessageType.update]: 'UPDATE',
  [MessageType.notification]: 'NOTIFICATION',
  [MessageType.keepalive]: 'KEEPALIVE',
  [MessageType.routeRefresh]: 'ROUTE-REFRESH',
};

/** kebab-case: the ones that we interpret are called as their `Capability['kind']` */
const CAPABILITIES: Names = {
  1: 'multiprotocol',
  2: 'route-refresh',
  3: 'outbound-route-filtering',
  5: 'extended-next-hop',
  6: 'extended-message',
  7: 'bgpsec',
  8: 'multiple-labels',
  9: 'role',
  64: 'graceful-restart',
  65: 'four-octet-asn',
  67: 'dynamic-capability',
  68: 'multisession',
  69: 'add-path',
  70: 'enhanced-route-refresh',
  71: 'long-lived-graceful-restart',
  72: 'routing-policy-distribution',
  73: 'fqdn',
  74: 'bfd',
  75: 'software-version',
  76: 'paths-limit',
  128: 'cisco-route-refresh',
  130: 'cisco-outbound-route-filtering',
  131: 'cisco-multisession',
};

const ATTRIBUTES: Names = {
  1: 'ORIGIN',
  2: 'AS_PATH',
  3: 'NEXT_HOP',
  4: 'MULTI_EXIT_DISC',
  5: 'LOCAL_PREF',
  6: 'ATOMIC_AGGREGATE',
  7: 'AGGREGATOR',
  8: 'COMMUNITIES',
  9: 'ORIGINATOR_ID',
  10: 'CLUSTER_LIST',
  14: 'MP_REACH_NLRI',
  15: 'MP_UNREACH_NLRI',
  16: 'EXTENDED COMMUNITIES',
  17: 'AS4_PATH',
  18: 'AS4_AGGREGATOR',
  22: 'PMSI_TUNNEL',
  23: 'Tunnel Encapsulation',
  24: 'Traffic Engineering',
  25: 'IPv6 Extended Communities',
  26: 'AIGP',
  27: 'PE Distinguisher Labels',
  29: 'BGP-LS',
  32: 'LARGE_COMMUNITY',
  33: 'BGPsec_Path',
  35: 'Only to Customer',
  40: 'BGP Prefix-SID',
  128: 'ATTR_SET',
};

/** Each error code with its subcodes. RFC 4271 §4.5 and the documents named at each row. */
const ERRORS: Readonly<Record<number, { readonly name: string; readonly subcodes: Names }>> = {
  1: {
    name: 'Message Header Error',
    subcodes: { 1: 'Connection Not Synchronized', 2: 'Bad Message Length', 3: 'Bad Message Type' },
  },
  2: {
    name: 'OPEN Message Error',
    subcodes: {
      1: 'Unsupported Version Number',
      2: 'Bad Peer AS',
      3: 'Bad BGP Identifier',
      4: 'Unsupported Optional Parameter',
      5: 'Authentication Failure',
      6: 'Unacceptable Hold Time',
      // RFC 5492 §5
      7: 'Unsupported Capability',
      // RFC 9234 §4.2
      11: 'Role Mismatch',
    },
  },
  3: {
    name: 'UPDATE Message Error',
    subcodes: {
      1: 'Malformed Attribute List',
      2: 'Unrecognized Well-known Attribute',
      3: 'Missing Well-known Attribute',
      4: 'Attribute Flags Error',
      5: 'Attribute Length Error',
      6: 'Invalid ORIGIN Attribute',
      7: 'AS Routing Loop',
      8: 'Invalid NEXT_HOP Attribute',
      9: 'Optional Attribute Error',
      10: 'Invalid Network Field',
      11: 'Malformed AS_PATH',
    },
  },
  4: { name: 'Hold Timer Expired', subcodes: {} },
  5: {
    name: 'Finite State Machine Error',
    // RFC 6608 §4
    subcodes: {
      1: 'Receive Unexpected Message in OpenSent State',
      2: 'Receive Unexpected Message in OpenConfirm State',
      3: 'Receive Unexpected Message in Established State',
    },
  },
  6: {
    name: 'Cease',
    // RFC 4486 §3, RFC 8538 §3, RFC 9384 §3
    subcodes: {
      1: 'Maximum Number of Prefixes Reached',
      2: 'Administrative Shutdown',
      3: 'Peer De-configured',
      4: 'Administrative Reset',
      5: 'Connection Rejected',
      6: 'Other Configuration Change',
      7: 'Connection Collision Resolution',
      8: 'Out of Resources',
      9: 'Hard Reset',
      10: 'BFD Down',
    },
  },
  // RFC 7313 §5
  7: { name: 'ROUTE-REFRESH Message Error', subcodes: { 1: 'Invalid Message Length' } },
  // RFC 9687 §4
  8: { name: 'Send Hold Timer Expired', subcodes: {} },
};

export function messageTypeName(type: number): string {
  return MESSAGE_TYPES[type] ?? `message type ${type}`;
}

export function capabilityName(code: number): string {
  return CAPABILITIES[code] ?? `capability-${code}`;
}

export function attributeName(code: number): string {
  return ATTRIBUTES[code] ?? `attribute ${code}`;
}

/** `Cease/Administrative Shutdown`; the code alone where the subcode is 0, which says nothing more (RFC 4271 §4.5). */
export function notificationName(code: number, subcode: number): string {
  const error = ERRORS[code];
  if (error === undefined) return `error ${code}/${subcode}`;
  if (subcode === 0) return error.name;
  return `${error.name}/${error.subcodes[subcode] ?? `subcode ${subcode}`}`;
}
