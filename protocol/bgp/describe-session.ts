/**
 * OPEN, NOTIFICATION, KEEPALIVE and ROUTE-REFRESH as the JSON of `herald decode` (protocol/README.md has the contract):
 * plain objects, octets as lower-case hex, identifiers as dotted quads. UPDATE is in describe.ts, which puts all together.
 */

import { formatHex } from '../bytes/hex.ts';
import { formatRouterId } from '../net/address-text.ts';
import { capabilityCode } from './capability.ts';
import { capabilityName } from './codes.ts';
import type {
  Capability,
  KeepaliveMessage,
  NotificationMessage,
  OpenMessage,
  RouteRefreshMessage,
} from './message.ts';
import { describeNotification } from './notification.ts';
import { advertisedAsn } from './open.ts';

/** A plain object for JSON.stringify. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function describeOpenMessage(message: OpenMessage): JsonObject {
  return {
    kind: message.kind,
    version: message.version,
    asn: message.asn,
    asn4: advertisedAsn(message.capabilities) ?? null,
    holdTime: message.holdTimeSeconds,
    routerId: formatRouterId(message.routerId),
    capabilities: message.capabilities.map(describeCapability),
  };
}

function describeCapability(capability: Capability): JsonObject {
  const code = capabilityCode(capability);
  return { code, name: capabilityName(code), ...capabilityFields(capability) };
}

function capabilityFields(capability: Capability): JsonObject {
  switch (capability.kind) {
    case 'multiprotocol':
      return { afi: capability.afi, safi: capability.safi };
    case 'route-refresh':
    case 'extended-message':
    case 'enhanced-route-refresh':
      return {};
    case 'extended-next-hop':
    case 'add-path':
      return { entries: capability.entries };
    case 'role':
      return { role: capability.role };
    case 'graceful-restart':
      return {
        restarting: capability.restarting,
        notification: capability.notification,
        restartTime: capability.restartTimeSeconds,
        families: capability.families,
      };
    case 'four-octet-asn':
      return { asn: capability.asn };
    case 'fqdn':
      return { host: capability.host, domain: capability.domain };
    case 'unknown':
      return { value: formatHex(capability.value) };
  }
}

export function describeNotificationMessage(message: NotificationMessage): JsonObject {
  const { name, text } = describeNotification(message);
  const fields = {
    kind: message.kind,
    code: message.code,
    subcode: message.subcode,
    name,
    data: formatHex(message.data),
  };
  return text === undefined ? fields : { ...fields, text };
}

export function describeKeepaliveMessage(message: KeepaliveMessage): JsonObject {
  return { kind: message.kind };
}

export function describeRouteRefreshMessage(message: RouteRefreshMessage): JsonObject {
  const { kind, afi, safi, subtype, data } = message;
  const fields = { kind, afi, safi, subtype };
  return data === undefined ? fields : { ...fields, data: formatHex(data) };
}
