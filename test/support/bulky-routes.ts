/** Routes that need far more octets on the wire than the kernel buffers: each has 300 octets of attributes of its own. */

import type { Route } from '../../protocol/bgp/route.ts';
import { ipv4Address, maskPrefix } from '../../protocol/net/address.ts';

export function* bulkyRoutes(count: number): Iterable<Route> {
  for (let index = 0; index < count; index += 1) {
    const prefix = maskPrefix(ipv4Address(0x0a000000 + index * 256), 24);
    const value = new Uint8Array(300);
    new DataView(value.buffer).setUint32(0, index);
    yield { prefix, attributes: { unknown: [{ code: 200, flags: 0xc0, value }] } };
  }
}
