/**
 * Decoded messages, faults and issues as plain objects for JSON: the contract of `herald decode`, documented in
 * protocol/README.md. Octets are lower-case hex, addresses RFC 5952, families numbers. A field that did not
 * come is undefined, which JSON leaves out.
 *
 * This is for people and for scripts. Nothing in the library reads it back.
 */

import { formatHex } from '../bytes/hex.ts';
import { formatAddress, formatPrefix } from '../net/address-text.ts';
import { Safi } from './codes.ts';
import { formatCommunity, formatLargeCommunity } from './community.ts';
import type { DecodeResult } from './decode.ts';
import {
  describeKeepaliveMessage,
  describeNotificationMessage,
  describeOpenMessage,
  describeRouteRefreshMessage,
  type JsonObject,
} from './describe-session.ts';
import type { BgpFault, Issue, WithdrawnByFault } from './error.ts';
import { formatExtendedCommunity, formatIpv6ExtendedCommunity } from './extended-community.ts';
import type {
  Aggregator,
  Message,
  MpReach,
  MpUnreach,
  Nlri,
  PathAttributes,
  UnknownAttribute,
  UpdateMessage,
} from './message.ts';

/**
 * `{ok: true, message, issues}` or `{ok: false, fault}`.
 *
 * @example
 * process.stdout.write(`${JSON.stringify(describeResult(decode(frame, PLAIN_CONTEXT)))}\n`);
 */
export function describeResult(result: DecodeResult): JsonObject {
  if (!result.ok) return { ok: false, fault: describeFault(result.fault) };
  return {
    ok: true,
    message: describeMessage(result.message),
    issues: describeIssues(result.issues),
  };
}

/**
 * One message of any kind as a plain object.
 *
 * @example
 * describeMessage({ kind: 'keepalive' }); // { kind: 'keepalive' }
 */
export function describeMessage(message: Message): JsonObject {
  switch (message.kind) {
    case 'open':
      return describeOpenMessage(message);
    case 'update':
      return describeUpdate(message);
    case 'notification':
      return describeNotificationMessage(message);
    case 'keepalive':
      return describeKeepaliveMessage(message);
    case 'route-refresh':
      return describeRouteRefreshMessage(message);
  }
}

/**
 * A fault as `herald decode` prints it.
 *
 * @example
 * describeFault(new BgpFault({ code: 3, subcode: 10, detail: 'a prefix is too long' })).outcome; // 'reset'
 */
export function describeFault(fault: BgpFault): JsonObject {
  return {
    code: fault.code,
    subcode: fault.subcode,
    data: formatHex(fault.data),
    outcome: fault.outcome,
    withdrawn: fault.withdrawn.flatMap(describeWithdrawn),
    detail: fault.detail,
  };
}

/**
 * Attributes that were dropped, as `herald decode` prints them.
 *
 * @example
 * describeIssues(result.issues).map(({ detail }) => detail);
 */
export function describeIssues(issues: readonly Issue[]): readonly JsonObject[] {
  return issues.map(({ attribute, code, outcome, detail }) => ({
    attribute,
    code,
    outcome,
    detail,
  }));
}

/** Unicast prefixes stand for themselves; in any other family a prefix alone would be ambiguous. */
function describeWithdrawn({ afi, safi, nlri }: WithdrawnByFault): readonly unknown[] {
  if (nlri instanceof Uint8Array) return [{ afi, safi, nlri: formatHex(nlri) }];
  const routes = nlri.map(describeNlri);
  return safi === Safi.unicast ? routes : [{ afi, safi, nlri: routes }];
}

function describeUpdate(message: UpdateMessage): JsonObject {
  return {
    kind: message.kind,
    withdrawn: message.withdrawn.map(describeNlri),
    attributes: describeAttributes(message.attributes),
    nlri: message.nlri.map(describeNlri),
  };
}

/** A prefix, or with its path identifier where add-path is in use. */
function describeNlri(nlri: Nlri): string | JsonObject {
  const prefix = formatPrefix(nlri);
  return nlri.pathId === undefined ? prefix : { prefix, pathId: nlri.pathId };
}

/**
 * In the order of the codes; JSON leaves out what is undefined.
 *
 * @example
 * describeAttributes({ med: 10, communities: [0xfde80064] }); // { med: 10, communities: ['65000:100'] }
 */
export function describeAttributes(attributes: PathAttributes): JsonObject {
  const a = attributes;
  return {
    origin: a.origin,
    asPath: a.asPath,
    nextHop: a.nextHop && formatAddress(a.nextHop),
    med: a.med,
    localPref: a.localPref,
    atomicAggregate: a.atomicAggregate,
    aggregator: a.aggregator && describeAggregator(a.aggregator),
    communities: a.communities?.map(formatCommunity),
    originatorId: a.originatorId && formatAddress(a.originatorId),
    clusterList: a.clusterList?.map(formatAddress),
    mpReach: a.mpReach && describeMpReach(a.mpReach),
    mpUnreach: a.mpUnreach && describeMpUnreach(a.mpUnreach),
    extendedCommunities: a.extendedCommunities?.map(formatExtendedCommunity),
    as4Path: a.as4Path,
    as4Aggregator: a.as4Aggregator && describeAggregator(a.as4Aggregator),
    ipv6ExtendedCommunities: a.ipv6ExtendedCommunities?.map(formatIpv6ExtendedCommunity),
    largeCommunities: a.largeCommunities?.map(formatLargeCommunity),
    otc: a.otc,
    unknown: a.unknown?.map(describeUnknown),
    // a new attribute without an entry here does not compile
  } satisfies Record<keyof PathAttributes, unknown>;
}

function describeAggregator({ asn, address }: Aggregator): JsonObject {
  return { asn, address: formatAddress(address) };
}

function describeMpReach(value: MpReach): JsonObject {
  const { afi, safi } = value;
  if (value.kind === 'opaque') {
    // its octets may be an address, two, or one behind a route distinguisher: only the family knows
    const nextHops = value.nextHop.length === 0 ? [] : [formatHex(value.nextHop)];
    return { afi, safi, nextHops, nlri: formatHex(value.nlri) };
  }
  return {
    afi,
    safi,
    nextHops: value.nextHops.map(formatAddress),
    nlri: value.nlri.map(describeNlri),
  };
}

function describeMpUnreach(value: MpUnreach): JsonObject {
  const { afi, safi } = value;
  if (value.kind === 'opaque') return { afi, safi, withdrawn: formatHex(value.withdrawn) };
  return { afi, safi, withdrawn: value.withdrawn.map(describeNlri) };
}

function describeUnknown({ code, flags, value }: UnknownAttribute): JsonObject {
  return { code, flags, value: formatHex(value) };
}
