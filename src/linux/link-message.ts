/**
 * Interfaces as rtnetlink bodies (linux/if_link.h): only their list, for names, numbers and whether they are up.
 *
 *   ifinfomsg: u8 family | u8 pad | u16 type | i32 index | u32 flags | u32 change, then attributes
 */

import {
  concat,
  decodeText,
  encodeAttribute,
  findAttribute,
  uint32,
  uint32At,
} from './netlink-message.ts';

export const LinkMessageType = { add: 16, remove: 17, get: 18 } as const;

const HEADER_OCTETS = 16;
const Attribute = { name: 3, master: 10, info: 18, extendedMask: 29 } as const;
const INFO_KIND = 1;
/** leaves out the counters of IPv6, which the kernel would sum up over all processors for each interface */
const SKIP_STATISTICS = 1 << 3;
const Flag = { up: 0x1, loopback: 0x8, noArp: 0x80 } as const;

export interface Link {
  readonly index: number;
  readonly name: string;
  /** as the administrator set it */
  readonly isUp: boolean;
  readonly isLoopback: boolean;
  /** whether ARP is spoken on it: not on lo, dummies and tunnels */
  readonly hasArp: boolean;
  /** `bridge`, `veth`, `dummy` and so on; absent: a device of hardware, or lo */
  readonly kind?: string;
  /** number of the bridge or bond that it is a port of */
  readonly master?: number;
}

export function encodeLinkList(): Uint8Array {
  return concat(
    new Uint8Array(HEADER_OCTETS),
    encodeAttribute(Attribute.extendedMask, uint32(SKIP_STATISTICS)),
  );
}

export function decodeLinkBody(body: Uint8Array): Link | undefined {
  const index = uint32At(body, 4);
  const flags = uint32At(body, 8);
  const name = findAttribute(body, HEADER_OCTETS, Attribute.name);
  if (index === undefined || flags === undefined || name === undefined) return undefined;
  const info = findAttribute(body, HEADER_OCTETS, Attribute.info);
  const kind = info === undefined ? undefined : findAttribute(info, 0, INFO_KIND);
  const master = uint32At(findAttribute(body, HEADER_OCTETS, Attribute.master));
  return {
    index,
    name: decodeText(name),
    isUp: (flags & Flag.up) !== 0,
    isLoopback: (flags & Flag.loopback) !== 0,
    hasArp: (flags & (Flag.noArp | Flag.loopback)) === 0,
    ...(kind === undefined ? {} : { kind: decodeText(kind) }),
    ...(master === undefined ? {} : { master }),
  };
}
