/**
 * The IANA numbers of BGP-4 that we know, and their names. Unknown numbers are never an error here: the functions that
 * name a code fall back to the number.
 */

export const MessageType = {
  open: 1,
  update: 2,
  notification: 3,
  keepalive: 4,
  routeRefresh: 5,
} as const;
export type MessageType = (typeof MessageType)[keyof typeof MessageType];

export const Afi = { ipv4: 1, ipv6: 2 } as const;
export const Safi = { unicast: 1, multicast: 2 } as const;

export const CapabilityCode = {
  multiprotocol: 1,
  routeRefresh: 2,
  extendedNextHop: 5,
  extendedMessage: 6,
  role: 9,
  gracefulRestart: 64,
  fourOctetAsn: 65,
  addPath: 69,
  enhancedRouteRefresh: 70,
  fqdn: 73,
  /** Cisco's number from before RFC 2918; old speakers send it beside or instead of 2 */
  ciscoRouteRefresh: 128,
} as const;
export type CapabilityCode = (typeof CapabilityCode)[keyof typeof CapabilityCode];

export const AttributeCode = {
  origin: 1,
  asPath: 2,
  nextHop: 3,
  med: 4,
  localPref: 5,
  atomicAggregate: 6,
  aggregator: 7,
  communities: 8,
  originatorId: 9,
  clusterList: 10,
  mpReach: 14,
  mpUnreach: 15,
  extendedCommunities: 16,
  as4Path: 17,
  as4Aggregator: 18,
  ipv6ExtendedCommunities: 25,
  aigp: 26,
  largeCommunities: 32,
  otc: 35,
  prefixSid: 40,
  attrSet: 128,
} as const;
export type AttributeCode = (typeof AttributeCode)[keyof typeof AttributeCode];

export const AttributeFlag = {
  optional: 0x80,
  transitive: 0x40,
  partial: 0x20,
  extendedLength: 0x10,
} as const;

/** RFC 4271 §4.5 and successors */
export const ErrorCode = {
  header: 1,
  open: 2,
  update: 3,
  holdTimerExpired: 4,
  fsm: 5,
  cease: 6,
  routeRefresh: 7,
  sendHoldTimerExpired: 8,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

export const HeaderSubcode = { notSynchronized: 1, badLength: 2, badType: 3 } as const;
export type HeaderSubcode = (typeof HeaderSubcode)[keyof typeof HeaderSubcode];

export const OpenSubcode = {
  unspecific: 0,
  unsupportedVersion: 1,
  badPeerAs: 2,
  badIdentifier: 3,
  unsupportedParameter: 4,
  unacceptableHoldTime: 6,
  unsupportedCapability: 7,
  roleMismatch: 11,
} as const;
export type OpenSubcode = (typeof OpenSubcode)[keyof typeof OpenSubcode];

export const UpdateSubcode = {
  malformedAttributeList: 1,
  unrecognizedWellKnown: 2,
  missingWellKnown: 3,
  attributeFlags: 4,
  attributeLength: 5,
  invalidOrigin: 6,
  invalidNextHop: 8,
  optionalAttribute: 9,
  invalidNetworkField: 10,
  malformedAsPath: 11,
} as const;
export type UpdateSubcode = (typeof UpdateSubcode)[keyof typeof UpdateSubcode];

/** RFC 6608 */
export const FsmSubcode = {
  unspecified: 0,
  inOpenSent: 1,
  inOpenConfirm: 2,
  inEstablished: 3,
} as const;
export type FsmSubcode = (typeof FsmSubcode)[keyof typeof FsmSubcode];

/** RFC 4486, RFC 8538 (9), RFC 9384 (10) */
export const CeaseSubcode = {
  maximumPrefixes: 1,
  administrativeShutdown: 2,
  peerDeconfigured: 3,
  administrativeReset: 4,
  connectionRejected: 5,
  otherConfigurationChange: 6,
  connectionCollision: 7,
  outOfResources: 8,
  hardReset: 9,
  bfdDown: 10,
} as const;
export type CeaseSubcode = (typeof CeaseSubcode)[keyof typeof CeaseSubcode];

/** RFC 7313 §5 */
export const RouteRefreshSubcode = { invalidLength: 1 } as const;

/** RFC 7911 §4, in the capability: what its sender can do */
export const AddPathMode = { receive: 1, send: 2, both: 3 } as const;
export type AddPathMode = (typeof AddPathMode)[keyof typeof AddPathMode];

/** RFC 9234 §4.1 */
export const Role = {
  provider: 0,
  routeServer: 1,
  routeServerClient: 2,
  customer: 3,
  peer: 4,
} as const;
export type Role = (typeof Role)[keyof typeof Role];

export const HEADER_LENGTH = 19;
export const MAX_MESSAGE_LENGTH = 4096;
export const MAX_EXTENDED_MESSAGE_LENGTH = 65535;

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
    // RFC 6608 §3
    subcodes: {
      1: 'Receive Unexpected Message in OpenSent State',
      2: 'Receive Unexpected Message in OpenConfirm State',
      3: 'Receive Unexpected Message in Established State',
    },
  },
  6: {
    name: 'Cease',
    // RFC 4486 §3, RFC 8538 §3, RFC 9384
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
  // RFC 9687 §5
  8: { name: 'Send Hold Timer Expired', subcodes: {} },
};

/**
 * The name of a message type, or `message type N`.
 *
 * @example
 * messageTypeName(2); // 'UPDATE'
 */
export function messageTypeName(type: number): string {
  return MESSAGE_TYPES[type] ?? `message type ${type}`;
}

/**
 * The name of a capability in kebab case, or `capability-N`.
 *
 * @example
 * capabilityName(65); // 'four-octet-asn'
 */
export function capabilityName(code: number): string {
  return CAPABILITIES[code] ?? `capability-${code}`;
}

/**
 * The name of a path attribute, or `attribute N`.
 *
 * @example
 * attributeName(5); // 'LOCAL_PREF'
 */
export function attributeName(code: number): string {
  return ATTRIBUTES[code] ?? `attribute ${code}`;
}

/**
 * `Cease/Administrative Shutdown`; the code alone where the subcode is 0, which says nothing more (RFC 4271 §4.5).
 *
 * @example
 * notificationName(6, 2); // 'Cease/Administrative Shutdown'
 */
export function notificationName(code: number, subcode: number): string {
  const error = ERRORS[code];
  if (error === undefined) return `error ${code}/${subcode}`;
  if (subcode === 0) return error.name;
  return `${error.name}/${error.subcodes[subcode] ?? `subcode ${subcode}`}`;
}
