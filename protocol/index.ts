/**
 * bgp-ts: a BGP-4 speaker. This is the only door; see README.md for a tour.
 *
 *   values        Address, Prefix, Route, messages
 *   codec         decode, encode, Framer, describe*, decodeRibEntry
 *   machine       stepPeer: the session of one neighbour, pure
 *   RIB           AdjRibOut: what a neighbour has been told and shall be told; AdjRibIn: what it told us
 *   speaker       createSpeaker, Speaker: neighbours, sessions, routes on real (or in-memory) transports
 *   MRT           MrtReader
 */

export {
  AdjRibIn,
  type AdjRibInCounters,
  type AdjRibInPolicy,
  type AdjRibInResult,
  type ReceivedRoute,
} from './bgp/adj-rib-in.ts';
export { AdjRibOut, type Batch } from './bgp/adj-rib-out.ts';
export {
  AddPathMode,
  Afi,
  AttributeCode,
  attributeName,
  CapabilityCode,
  CeaseSubcode,
  capabilityName,
  ErrorCode,
  FsmSubcode,
  HeaderSubcode,
  MessageType,
  messageTypeName,
  notificationName,
  OpenSubcode,
  Role,
  Safi,
  UpdateSubcode,
} from './bgp/codes.ts';
export {
  communityName,
  formatCommunity,
  formatLargeCommunity,
  parseCommunity,
  parseLargeCommunity,
  WellKnownCommunity,
  type WellKnownCommunityName,
} from './bgp/community.ts';
export {
  type Decoded,
  type DecodedRibEntry,
  type DecodeResult,
  decode,
  decodeAt,
  decodeRibEntry,
  PLAIN_CONTEXT,
  type Undecoded,
} from './bgp/decode.ts';
export {
  describeAttributes,
  describeFault,
  describeIssues,
  describeMessage,
  describeResult,
} from './bgp/describe.ts';
export type { JsonObject } from './bgp/describe-session.ts';
export { encode } from './bgp/encode.ts';
export {
  BgpFault,
  type FaultInit,
  type FaultOutcome,
  type Issue,
  type Outcome,
  type WithdrawnByFault,
} from './bgp/error.ts';
export {
  formatExtendedCommunity,
  formatIpv6ExtendedCommunity,
  parseExtendedCommunity,
  parseIpv6ExtendedCommunity,
} from './bgp/extended-community.ts';
export { FAMILIES, type FamilyId } from './bgp/family.ts';
export { Framer, type FramerResult } from './bgp/framer.ts';
export type {
  AddPathEntry,
  Aggregator,
  AsPathSegment,
  AsPathSegmentType,
  Capability,
  ExtendedCommunity,
  ExtendedNextHopEntry,
  GracefulRestartCapability,
  GracefulRestartFamily,
  KeepaliveMessage,
  LargeCommunity,
  Message,
  MessageKind,
  MpReach,
  MpUnreach,
  Nlri,
  NotificationMessage,
  OpenMessage,
  OptionalParameter,
  Origin,
  PathAttributes,
  RouteRefreshMessage,
  UnknownAttribute,
  UpdateMessage,
} from './bgp/message.ts';
export {
  buildOpen,
  type CodecContext,
  type Negotiated,
  type Negotiation,
  negotiate,
} from './bgp/negotiate.ts';
export type { NextHops, Refusal, RefusalReason, RefusedRoute, SessionView } from './bgp/pack.ts';
export {
  acceptsIncoming,
  initialPeerState,
  type PeerState,
  type PeerStep,
  peerStateName,
  stepPeer,
} from './bgp/peer.ts';
export { attributesEqual, type Route, type RouteAttributes } from './bgp/route.ts';
export type {
  ConnectionStateName,
  ConnectionTimer,
  DownReason,
  PeerAction,
  PeerEvent,
  SessionConfig,
  Side,
  StopReason,
} from './bgp/session.ts';
export { endOfRib, endOfRibFamily, type RibSource } from './bgp/update.ts';
export { formatHex, parseHex } from './bytes/hex.ts';
export type { Clock, Timer } from './io/clock.ts';
export { formatEndpoint } from './io/endpoint.ts';
export {
  type InterfaceAddresses,
  type InterfaceTable,
  resolveLocalAddresses,
} from './io/interface-addresses.ts';
export { type DialFault, MemoryNetwork, type MemoryNetworkOptions } from './io/memory-transport.ts';
export { nodeClock } from './io/node-clock.ts';
export { nodeRandom } from './io/node-random.ts';
export { type NodeTcpOptions, NodeTcpTransport } from './io/node-tcp.ts';
export type { Random } from './io/random.ts';
export { type PieceReader, ReadTurns } from './io/read-turns.ts';
export {
  type AcceptHandler,
  type Connection,
  type ConnectionHandlers,
  type DialOptions,
  type Endpoint,
  type Listener,
  type ListenOptions,
  type SocketOptions,
  type Transport,
  TransportError,
  type TransportErrorCode,
  type TtlRule,
} from './io/transport.ts';
export { MrtReader } from './mrt/reader.ts';
export {
  type MrtHeader,
  type MrtMalformed,
  type MrtMessage,
  type MrtPeer,
  type MrtPeerIndex,
  type MrtRecord,
  type MrtRib,
  type MrtRibEntry,
  type MrtStateChange,
  MrtType,
  type MrtUnknown,
  mrtTypeName,
} from './mrt/record.ts';
export {
  type Address,
  addressEquals,
  addressKey,
  compareAddress,
  comparePrefix,
  type Family,
  hostPrefix,
  type Ipv4Address,
  type Ipv4Prefix,
  type Ipv6Address,
  type Ipv6Prefix,
  isLinkLocal,
  maskPrefix,
  type Prefix,
  type PrefixKey,
  prefixAddress,
  prefixContains,
  prefixEquals,
  prefixKey,
} from './net/address.ts';
export {
  formatAddress,
  formatPrefix,
  formatRouterId,
  parseAddress,
  parsePrefix,
  parsePrefixMasked,
  parseRouterId,
} from './net/address-text.ts';
export { AS_TRANS, isUsableAsn } from './net/asn.ts';
export { address, ipv4, ipv6, prefix, routerId } from './net/literal.ts';
export type { RefusedSettings } from './speaker/check-settings.ts';
export { sortSettings } from './speaker/check-settings.ts';
export { describeDown } from './speaker/describe-down.ts';
export type { DesiredRange, RangeSettings } from './speaker/dynamic-peers.ts';
export type {
  ListenEvent,
  PeerCounters,
  PeerSpeakerEvent,
  PeerStatus,
  SpeakerEvent,
} from './speaker/events.ts';
export { createSpeaker } from './speaker/node-speaker.ts';
export {
  type NextHopSettings,
  needsNewSession,
  type PeerSettings,
  type PeerTimers,
} from './speaker/settings.ts';
export {
  type Desired,
  type DesiredPeer,
  Speaker,
  type SpeakerOptions,
  type SpeakerStop,
} from './speaker/speaker.ts';
