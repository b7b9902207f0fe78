/**
 * From two OPENs to what the session may do. Pure.
 *
 * RFC 4271 §4.2 (hold time), RFC 5492, RFC 4760, RFC 6793, RFC 6286, RFC 7911, RFC 8654, RFC 8950, RFC 9234 §4, RFC 4724.
 *
 * What is wrong with an OPEN on its own has been refused by open.ts; here are the checks that need our configuration.
 * Something is in use only if both sides said it (RFC 5492 §3). Where a capability comes more than once, families add up
 * and for everything else the last one counts (RFC 4724 §3 demands it, the others are silent); roles must agree (RFC 9234 §4.2).
 */

import { ByteWriter } from '../bytes/writer.ts';
import { formatRouterId } from '../net/address-text.ts';
import { AS_TRANS } from '../net/asn.ts';
import { writeCapability } from './capability.ts';
import { AddPathMode, Afi, CapabilityCode, ErrorCode, OpenSubcode, Role } from './codes.ts';
import { BgpFault } from './error.ts';
import { type FamilyId, hasFamily, IPV4_UNICAST } from './family.ts';
import type {
  AddPathEntry,
  Capability,
  ExtendedNextHopEntry,
  GracefulRestartCapability,
  OpenMessage,
} from './message.ts';
import { advertisedAsn, BGP_VERSION } from './open.ts';
import type { SessionConfig } from './session.ts';

/** What decode and encode have to know about a session. */
export interface CodecContext {
  /** four-octet AS numbers in AS_PATH and AGGREGATOR (RFC 6793) */
  readonly as4: boolean;
  /** messages of up to 65,535 octets (RFC 8654); never for OPEN and KEEPALIVE */
  readonly extendedMessage: boolean;
  /**
   * internal session: LOCAL_PREF, ORIGINATOR_ID and CLUSTER_LIST are expected, on an external one they are dropped (RFC 7606
   * §7.5, 7.9, 7.10). Undefined: a message of an unknown session, such as one from a capture; it is shown as it stands and no
   * rule that depends on the neighbour applies.
   */
  readonly internal: boolean | undefined;
  /** families whose NLRI carry a path identifier in what we receive and in what we send (RFC 7911) */
  readonly addPathReceive: readonly FamilyId[];
  readonly addPathSend: readonly FamilyId[];
  /** IPv4 families that may carry an IPv6 next hop (RFC 8950) */
  readonly extendedNextHop: readonly FamilyId[];
}

export interface Negotiated extends CodecContext {
  readonly internal: boolean;
  readonly peerAsn: number;
  readonly peerRouterId: number;
  readonly localAsn: number;
  readonly localRouterId: number;
  /** the smaller of both; 0 = no keepalives, no hold timer */
  readonly holdTimeSeconds: number;
  /** a third of the hold time, or less where configured; 0 with hold time 0 */
  readonly keepaliveSeconds: number;
  readonly families: readonly FamilyId[];
  readonly routeRefresh: boolean;
  readonly enhancedRouteRefresh: boolean;
  /** what the peer said, if it said anything */
  readonly peerGracefulRestart?: GracefulRestartCapability;
  /** our own role, and theirs if they sent one: ours counts without it too (RFC 9234 §4.2) */
  readonly roles?: { readonly local: number; readonly peer?: number };
}

export type Negotiation =
  | { readonly ok: true; readonly negotiated: Negotiated }
  | { readonly ok: false; readonly fault: BgpFault };

const MAX_TWO_OCTET_ASN = 0xffff;

/**
 * Our OPEN. The four-octet AS capability is always in it: where the configuration lists it, in that place, else at the
 * end; its number is ours in any case.
 *
 * @example
 * buildOpen(config).capabilities.some(({ kind }) => kind === 'four-octet-asn'); // true
 */
export function buildOpen(config: SessionConfig): OpenMessage {
  const fourOctet: Capability = { kind: 'four-octet-asn', asn: config.localAsn };
  const listed = config.capabilities.some(({ kind }) => kind === fourOctet.kind);
  const capabilities = listed
    ? config.capabilities.map((one) => (one.kind === fourOctet.kind ? fourOctet : one))
    : [...config.capabilities, fourOctet];
  return {
    kind: 'open',
    version: BGP_VERSION,
    asn: config.localAsn > MAX_TWO_OCTET_ASN ? AS_TRANS : config.localAsn,
    holdTimeSeconds: config.holdTimeSeconds,
    routerId: config.routerId,
    capabilities,
  };
}

/**
 * What a session of these two OPENs may do, or why there is none.
 *
 * @example
 * const result = negotiate(config, buildOpen(config), theirs);
 * if (result.ok) use(result.negotiated.holdTimeSeconds);
 */
export function negotiate(
  config: SessionConfig,
  ours: OpenMessage,
  theirs: OpenMessage,
): Negotiation {
  try {
    return { ok: true, negotiated: agree(config, ours, theirs) };
  } catch (error) {
    if (!(error instanceof BgpFault)) throw error;
    return { ok: false, fault: error };
  }
}

function agree(config: SessionConfig, ours: OpenMessage, theirs: OpenMessage): Negotiated {
  const peerAsn = checkPeerAsn(config, theirs);
  const internal = peerAsn === config.localAsn;
  checkIdentifier(ours, theirs, internal);
  const roles = internal ? undefined : agreeRoles(config, ours, theirs);
  const families = agreeFamilies(ours, theirs);
  const has = (kind: Capability['kind']) => hasKind(ours, kind) && hasKind(theirs, kind);
  const holdTimeSeconds = agreeHoldTime(config, ours, theirs);
  const peerGracefulRestart = theirs.capabilities.findLast(
    (one) => one.kind === 'graceful-restart',
  );
  return {
    as4: has('four-octet-asn'),
    extendedMessage: has('extended-message'),
    internal,
    addPathReceive: agreeAddPath(families, ours, theirs),
    addPathSend: agreeAddPath(families, theirs, ours),
    extendedNextHop: agreeExtendedNextHop(families, ours, theirs),
    peerAsn,
    peerRouterId: theirs.routerId,
    localAsn: config.localAsn,
    localRouterId: ours.routerId,
    holdTimeSeconds,
    keepaliveSeconds: keepaliveSeconds(config, holdTimeSeconds),
    families,
    routeRefresh: hasKind(ours, 'route-refresh') && understandsRefresh(theirs),
    enhancedRouteRefresh: has('enhanced-route-refresh'),
    ...(peerGracefulRestart === undefined ? {} : { peerGracefulRestart }),
    ...(roles === undefined ? {} : { roles }),
  };
}

function hasKind(open: OpenMessage, kind: Capability['kind']): boolean {
  return open.capabilities.some((capability) => capability.kind === kind);
}

function understandsRefresh(open: OpenMessage): boolean {
  return open.capabilities.some(
    (one) =>
      one.kind === 'route-refresh' ||
      (one.kind === 'unknown' && one.code === CapabilityCode.ciscoRouteRefresh),
  );
}

/** RFC 4271 §4.2: the smaller one; a neighbour that comes by itself may be refused where it wants none. */
function agreeHoldTime(config: SessionConfig, ours: OpenMessage, theirs: OpenMessage): number {
  const seconds = Math.min(ours.holdTimeSeconds, theirs.holdTimeSeconds);
  if (config.requiresHoldTime === true && seconds === 0 && ours.holdTimeSeconds > 0) {
    const detail = 'a hold time of 0 is not taken from neighbours that come by themselves';
    throw openFault(OpenSubcode.unacceptableHoldTime, detail);
  }
  return seconds;
}

/** RFC 4271 §4.4: a third of the hold time, and not more often than once a second. */
function keepaliveSeconds(config: SessionConfig, holdTimeSeconds: number): number {
  if (holdTimeSeconds === 0) return 0;
  const third = Math.floor(holdTimeSeconds / 3);
  return Math.max(1, Math.min(third, config.keepaliveSeconds ?? third));
}

/**
 * The AS of the neighbour (RFC 6793 §4.1). The two places of the OPEN must not contradict each other: a neighbour whose
 * identity depends on where one looks is refused, as FRR does it.
 */
function checkPeerAsn(config: SessionConfig, theirs: OpenMessage): number {
  const four = advertisedAsn(theirs.capabilities);
  const asn = four ?? theirs.asn;
  if (theirs.asn === 0 || asn === 0) throw badPeerAs(asn, 'AS number 0');
  if (theirs.asn !== asn && theirs.asn !== AS_TRANS) {
    throw badPeerAs(asn, `AS ${theirs.asn} in the OPEN, ${asn} in its capability`);
  }
  const expected = expectedAsn(config, asn);
  if (expected !== undefined) throw badPeerAs(asn, `AS ${asn}, expected ${expected}`);
  return asn;
}

/** What we expected, in words, where it is not this. */
function expectedAsn(config: SessionConfig, asn: number): string | undefined {
  switch (config.peerAsn) {
    case 'internal':
      return asn === config.localAsn ? undefined : `our own, ${config.localAsn}`;
    case 'external':
      // AS_TRANS stands for anybody: no identity to learn from (RFC 6793 §4.2.1)
      return asn === config.localAsn || asn === AS_TRANS ? 'one that is not ours' : undefined;
    case 'any':
      return asn === AS_TRANS ? 'one of its own' : undefined;
    default:
      return asn === config.peerAsn ? undefined : `${config.peerAsn}`;
  }
}

function badPeerAs(asn: number, detail: string): BgpFault {
  const data = new ByteWriter(4).u32(asn).finish();
  return openFault(OpenSubcode.badPeerAs, detail, data);
}

/** RFC 6286 §2.2: two speakers of one AS need two identifiers; of two AS they may share one (§2.3 decides collisions). */
function checkIdentifier(ours: OpenMessage, theirs: OpenMessage, internal: boolean): void {
  const same = internal && theirs.routerId === ours.routerId;
  if (theirs.routerId !== 0 && !same) return;
  const text = formatRouterId(theirs.routerId);
  const detail = same ? `BGP identifier ${text} is our own` : `BGP identifier ${text}`;
  throw openFault(
    OpenSubcode.badIdentifier,
    detail,
    new ByteWriter(4).u32(theirs.routerId).finish(),
  );
}

/** RFC 4760 §8. A speaker that lists no family speaks IPv4 unicast, as all did before there was a list. */
function agreeFamilies(ours: OpenMessage, theirs: OpenMessage): readonly FamilyId[] {
  const theirFamilies = listedFamilies(theirs);
  const ourFamilies = listedFamilies(ours);
  const families = ourFamilies.filter((family) =>
    hasFamily(theirFamilies, family.afi, family.safi),
  );
  if (families.length > 0) return families;
  // RFC 5492 §5: the Data field lists what was missing, as it would stand in an OPEN
  const missing = new ByteWriter();
  for (const { afi, safi } of ourFamilies) {
    writeCapability({ kind: 'multiprotocol', afi, safi }, missing);
  }
  const detail = `no family in common: ours ${names(ourFamilies)}, theirs ${names(theirFamilies)}`;
  throw openFault(OpenSubcode.unsupportedCapability, detail, missing.finish());
}

function names(families: readonly FamilyId[]): string {
  return families.map(({ afi, safi }) => `${afi}/${safi}`).join(' ');
}

function listedFamilies(open: OpenMessage): readonly FamilyId[] {
  const families: FamilyId[] = [];
  for (const one of open.capabilities) {
    if (one.kind === 'multiprotocol' && !hasFamily(families, one.afi, one.safi)) {
      families.push({ afi: one.afi, safi: one.safi });
    }
  }
  return families.length > 0 ? families : [IPV4_UNICAST];
}

function isSame(a: FamilyId, b: FamilyId): boolean {
  return a.afi === b.afi && a.safi === b.safi;
}

/** Families in which `sender` offers to send path identifiers and `receiver` to take them (RFC 7911 §4). */
function agreeAddPath(
  families: readonly FamilyId[],
  receiver: OpenMessage,
  sender: OpenMessage,
): readonly FamilyId[] {
  return families.filter(
    (family) =>
      (addPathMode(receiver, family) & AddPathMode.receive) !== 0 &&
      (addPathMode(sender, family) & AddPathMode.send) !== 0,
  );
}

/** 0 where nothing was said or a mode that does not exist, which RFC 7911 §4 wants ignored. */
function addPathMode(open: OpenMessage, family: FamilyId): number {
  const entries: AddPathEntry[] = open.capabilities.flatMap((one) =>
    one.kind === 'add-path' ? one.entries : [],
  );
  const mode = entries.findLast((one) => isSame(family, one))?.mode ?? 0;
  return mode <= AddPathMode.both ? mode : 0;
}

/** RFC 8950 §4: IPv4 families for which both sides take a next hop of IPv6. */
function agreeExtendedNextHop(
  families: readonly FamilyId[],
  ours: OpenMessage,
  theirs: OpenMessage,
): readonly FamilyId[] {
  return families.filter(
    (family) =>
      family.afi === Afi.ipv4 && takesIpv6NextHop(ours, family) && takesIpv6NextHop(theirs, family),
  );
}

function takesIpv6NextHop(open: OpenMessage, family: FamilyId): boolean {
  const entries: ExtendedNextHopEntry[] = open.capabilities.flatMap((one) =>
    one.kind === 'extended-next-hop' ? one.entries : [],
  );
  return entries.some((one) => one.nextHopAfi === Afi.ipv6 && isSame(family, one));
}

/** RFC 9234 §4.2, table 2: which role of theirs answers ours */
const COUNTERPART: ReadonlyMap<number, number> = new Map([
  [Role.provider, Role.customer],
  [Role.customer, Role.provider],
  [Role.routeServer, Role.routeServerClient],
  [Role.routeServerClient, Role.routeServer],
  [Role.peer, Role.peer],
]);

/** RFC 9234 §4.2; on external sessions only. Undefined where we have none. */
function agreeRoles(
  config: SessionConfig,
  ours: OpenMessage,
  theirs: OpenMessage,
): Negotiated['roles'] {
  const local = rolesOf(ours)[0];
  const peers = rolesOf(theirs);
  const peer = peers[0];
  if (peers.some((role) => role !== peer)) throw roleMismatch(`several roles: ${peers.join(' ')}`);
  if (local === undefined) return undefined;
  if (peer === undefined) {
    if (config.strictRole === true) throw roleMismatch('no role, and ours is strict');
    return { local };
  }
  if (COUNTERPART.get(local) !== peer) throw roleMismatch(`role ${peer} against ours, ${local}`);
  return { local, peer };
}

function rolesOf(open: OpenMessage): readonly number[] {
  return open.capabilities.flatMap((one) => (one.kind === 'role' ? [one.role] : []));
}

function roleMismatch(detail: string): BgpFault {
  return openFault(OpenSubcode.roleMismatch, detail);
}

function openFault(subcode: number, detail: string, data?: Uint8Array): BgpFault {
  const init = { code: ErrorCode.open, subcode, detail };
  return new BgpFault(data === undefined ? init : { ...init, data });
}
