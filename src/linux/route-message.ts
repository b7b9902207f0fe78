/**
 * Routes as rtnetlink bodies (linux/rtnetlink.h): RTM_NEWROUTE, RTM_DELROUTE and their list.
 *
 *   rtmsg: u8 family | u8 length | u8 source length | u8 tos | u8 table | u8 protocol | u8 scope | u8 type | u32 flags, then attributes
 *   rtnexthop: u16 length | u8 flags | u8 weight - 1 | u32 interface, then attributes
 *
 * One next hop is written as gateway and interface, several as RTA_MULTIPATH, for both families alike. An IPv4 route by an
 * IPv6 gateway (RFC 8950) uses RTA_VIA. Interfaces are numbers here.
 */

import { type Address, type Family, maskPrefix, type Prefix, prefixAddress } from 'bgp-ts';
import {
  concat,
  decodeAddress,
  encodeAddress,
  encodeAttribute,
  familyNumber,
  familyOf,
  findAttribute,
  uint16At,
  uint32,
  uint32At,
} from './netlink-message.ts';

export const RouteMessageType = { add: 24, remove: 25, get: 26 } as const;

const HEADER_OCTETS = 12;
const NEXT_HOP_OCTETS = 8;
const Attribute = {
  destination: 1,
  interface: 4,
  gateway: 5,
  priority: 6,
  multipath: 9,
  table: 15,
  via: 18,
} as const;
const RouteType = { any: 0, unicast: 1, unreachable: 7 } as const;
/** `nowhere` matches every scope in a removal */
const Scope = { universe: 0, link: 253, nowhere: 255 } as const;
/** the table's number is in an attribute when it is over 255 */
const TABLE_IN_ATTRIBUTE = 252;
const CLONED = 0x200;

export interface RouteHop {
  readonly gateway?: Address;
  readonly index?: number;
}

export interface RouteBody {
  readonly prefix: Prefix;
  readonly table: number;
  readonly metric: number;
  readonly protocol: number;
  /** none: unreachable */
  readonly hops: readonly RouteHop[];
}

export function encodeRouteBody(route: RouteBody): Uint8Array {
  const { prefix, hops } = route;
  const isOnLink = hops.length > 0 && hops.every((hop) => hop.gateway === undefined);
  return concat(
    header(prefix.family, {
      length: prefix.length,
      table: route.table,
      protocol: route.protocol,
      scope: isOnLink && prefix.family === 'ipv4' ? Scope.link : Scope.universe,
      type: hops.length === 0 ? RouteType.unreachable : RouteType.unicast,
    }),
    encodePlace(route),
    encodeHops(prefix.family, hops),
  );
}

/** Whatever route of this protocol is at the place: of any kind, with any next hops. */
export function encodeRouteRemoval(route: Omit<RouteBody, 'hops'>): Uint8Array {
  const { prefix, table, protocol } = route;
  const { length } = prefix;
  const any = { scope: Scope.nowhere, type: RouteType.any };
  return concat(header(prefix.family, { length, table, protocol, ...any }), encodePlace(route));
}

function encodePlace({ prefix, table, metric }: Omit<RouteBody, 'hops'>): Uint8Array {
  return concat(
    encodeAttribute(Attribute.destination, encodeAddress(prefixAddress(prefix))),
    encodeAttribute(Attribute.table, uint32(table)),
    encodeAttribute(Attribute.priority, uint32(metric)),
  );
}

/** A request for the routes of one table and protocol; kernels that do not filter send them all. */
export function encodeRouteList(family: Family, table: number, protocol: number): Uint8Array {
  return concat(
    header(family, { length: 0, table, protocol, scope: 0, type: 0 }),
    encodeAttribute(Attribute.table, uint32(table)),
  );
}

interface Header {
  readonly length: number;
  readonly table: number;
  readonly protocol: number;
  readonly scope: number;
  readonly type: number;
}

function header(family: Family, { length, table, protocol, scope, type }: Header): Uint8Array {
  const bytes = new Uint8Array(HEADER_OCTETS);
  const shortTable = table > 255 ? TABLE_IN_ATTRIBUTE : table;
  bytes.set([familyNumber(family), length, 0, 0, shortTable, protocol, scope, type]);
  return bytes;
}

function encodeHops(family: Family, hops: readonly RouteHop[]): Uint8Array {
  const [only] = hops;
  if (only === undefined) return new Uint8Array();
  if (hops.length === 1) {
    const index = only.index === undefined ? undefined : uint32(only.index);
    return concat(
      encodeGateway(family, only.gateway),
      index === undefined ? new Uint8Array() : encodeAttribute(Attribute.interface, index),
    );
  }
  return encodeAttribute(Attribute.multipath, concat(...hops.map((hop) => encodeHop(family, hop))));
}

function encodeHop(family: Family, hop: RouteHop): Uint8Array {
  const bytes = concat(new Uint8Array(NEXT_HOP_OCTETS), encodeGateway(family, hop.gateway));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, bytes.length, true);
  view.setUint32(4, hop.index ?? 0, true);
  return bytes;
}

function encodeGateway(family: Family, gateway: Address | undefined): Uint8Array {
  if (gateway === undefined) return new Uint8Array();
  const octets = encodeAddress(gateway);
  if (gateway.family === family) return encodeAttribute(Attribute.gateway, octets);
  const via = concat(Uint8Array.of(familyNumber(gateway.family), 0), octets);
  return encodeAttribute(Attribute.via, via);
}

/** undefined for other kinds of routes (local, broadcast, cached), other families, and what is cut short */
export function decodeRouteBody(body: Uint8Array): RouteBody | undefined {
  const family = familyOf(body[0]);
  const [, length, , , shortTable, protocol, , type] = body;
  const flags = uint32At(body, 8);
  if (family === undefined || length === undefined || flags === undefined) return undefined;
  if (type !== RouteType.unicast && type !== RouteType.unreachable) return undefined;
  if ((flags & CLONED) !== 0 || length > (family === 'ipv4' ? 32 : 128)) return undefined;
  const find = (attribute: number) => findAttribute(body, HEADER_OCTETS, attribute);
  // The default route has no destination.
  const destination = find(Attribute.destination) ?? new Uint8Array(16);
  const address = decodeAddress(family, destination);
  if (address === undefined) return undefined;
  return {
    prefix: maskPrefix(address, length),
    table: uint32At(find(Attribute.table)) ?? shortTable ?? 0,
    metric: uint32At(find(Attribute.priority)) ?? 0,
    protocol: protocol ?? 0,
    hops: type === RouteType.unreachable ? [] : decodeHops(family, body),
  };
}

/** Where a route is and whose: of any kind, but for what the kernel only remembers. */
export function decodeRoutePlace(
  body: Uint8Array,
): Pick<RouteBody, 'prefix' | 'table' | 'protocol'> | undefined {
  const family = familyOf(body[0]);
  const [, length, , , shortTable, protocol] = body;
  const flags = uint32At(body, 8);
  if (family === undefined || length === undefined || flags === undefined) return undefined;
  if ((flags & CLONED) !== 0 || length > (family === 'ipv4' ? 32 : 128)) return undefined;
  const find = (attribute: number) => findAttribute(body, HEADER_OCTETS, attribute);
  const address = decodeAddress(family, find(Attribute.destination) ?? new Uint8Array(16));
  if (address === undefined) return undefined;
  const table = uint32At(find(Attribute.table)) ?? shortTable ?? 0;
  return { prefix: maskPrefix(address, length), table, protocol: protocol ?? 0 };
}

function decodeHops(family: Family, body: Uint8Array): readonly RouteHop[] {
  const multipath = findAttribute(body, HEADER_OCTETS, Attribute.multipath);
  if (multipath === undefined) {
    const index = uint32At(findAttribute(body, HEADER_OCTETS, Attribute.interface));
    return [hopOf(index, decodeGateway(family, body, HEADER_OCTETS))];
  }
  const hops: RouteHop[] = [];
  let at = 0;
  for (;;) {
    const length = uint16At(multipath, at);
    if (length === undefined || length < NEXT_HOP_OCTETS || at + length > multipath.length) {
      return hops;
    }
    const hop = multipath.subarray(at, at + length);
    hops.push(hopOf(uint32At(hop, 4), decodeGateway(family, hop, NEXT_HOP_OCTETS)));
    at += (length + 3) & ~3;
  }
}

function hopOf(index: number | undefined, gateway: Address | undefined): RouteHop {
  return {
    ...(index === undefined ? {} : { index }),
    ...(gateway === undefined ? {} : { gateway }),
  };
}

function decodeGateway(family: Family, body: Uint8Array, from: number): Address | undefined {
  const gateway = findAttribute(body, from, Attribute.gateway);
  if (gateway !== undefined) return decodeAddress(family, gateway);
  const via = findAttribute(body, from, Attribute.via);
  const viaFamily = familyOf(via?.[0]);
  return viaFamily === undefined ? undefined : decodeAddress(viaFamily, via?.subarray(2));
}
