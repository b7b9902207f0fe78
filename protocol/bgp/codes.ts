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
  largeCommunities: 32,
  otc: 35,
} as const;

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

export const HeaderSubcode = { notSynchronized: 1, badLength: 2, badType: 3 } as const;

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

/** RFC 6608 */
export const FsmSubcode = {
  unspecified: 0,
  inOpenSent: 1,
  inOpenConfirm: 2,
  inEstablished: 3,
} as const;

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

/** RFC 7313 §5 */
export const RouteRefreshSubcode = { invalidLength: 1 } as const;

/** RFC 9234 §4.1 */
export const Role = {
  provider: 0,
  routeServer: 1,
  routeServerClient: 2,
  customer: 3,
  peer: 4,
} as const;

export const HEADER_LENGTH = 19;
export const MAX_MESSAGE_LENGTH = 4096;
export const MAX_EXTENDED_MESSAGE_LENGTH = 65535;
