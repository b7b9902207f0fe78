/**
 * Where the metrics are served: `:9179` (all addresses), `127.0.0.1:9179`, `[::1]:9179`, `off`, or an address alone for the usual port:
 * what Kubernetes tells a pod of its node (status.hostIP) has no brackets. Pure.
 */

import { formatAddress, parseAddress } from 'bgp-ts';

export interface ListenAddress {
  /** absent: all addresses of both families */
  readonly host?: string;
  readonly port: number;
}

/** Throws a sentence for what cannot be; undefined for `off`. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  if (text === 'off') return undefined;
  const alone = parseAddress(text);
  if (alone !== undefined) return { host: formatAddress(alone), port: DEFAULT_PORT };
  const [, ipv6, ipv4 = '', digits] = /^(?:\[([^\]]+)\]|([^:]*)):([0-9]{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  const host = ipv6 ?? ipv4;
  if (digits === undefined || port < 1 || port > 65_535) throw new Error(HOW);
  if (host === '') return { port };
  const address = parseAddress(host);
  const isRight = address?.family === (ipv6 === undefined ? 'ipv4' : 'ipv6');
  if (address === undefined || !isRight) throw new Error(HOW);
  return { host: formatAddress(address), port };
}

const DEFAULT_PORT = 9179;
const HOW = 'write :PORT, ADDRESS:PORT, [IPV6]:PORT, ADDRESS, or off; the port is 1 to 65535';
