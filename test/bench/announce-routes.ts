/**
 * A speaker on the library that announces routes with communities of their own, which the command line of `herald announce`
 * cannot say. Reads the file first, then dials; SIGTERM withdraws, sends Cease and ends.
 *
 * Usage: node announce-routes.ts FILE PEER PEER-ASN ROUTER-ID ASN, one address and its communities as numbers per line
 */

import { readFileSync } from 'node:fs';
import {
  type Address,
  hostPrefix,
  NodeTcpTransport,
  nodeClock,
  nodeRandom,
  parseAddress,
  parseRouterId,
  type Route,
  resolveLocalAddresses,
  Speaker,
} from 'bgp-ts';

function address(text: string | undefined): Address {
  const parsed = parseAddress(text ?? '');
  if (parsed === undefined) throw new Error(`not an address: ${text}`);
  return parsed;
}

function routes(file: string): Route[] {
  const lines = readFileSync(file, 'latin1').trimEnd().split('\n');
  return lines.map((line) => {
    const [host, ...communities] = line.split(' ');
    const attributes = { communities: communities.map(Number) };
    return { prefix: hostPrefix(address(host)), attributes };
  });
}

function main(argv: readonly string[]): void {
  const [file = '', peer, peerAsn, routerId = '', asn] = argv;
  const speaker = new Speaker({
    clock: nodeClock,
    random: nodeRandom,
    transport: new NodeTcpTransport(),
    interfaceAddresses: (local) => resolveLocalAddresses(local.address, local.zone),
  });
  const settings = {
    name: 'receiver',
    address: address(peer),
    peerAsn: Number(peerAsn),
    localAsn: Number(asn),
    routerId: parseRouterId(routerId) ?? 0,
  };
  speaker.apply({ peers: [{ settings, routes: routes(file) }] });
  process.on('SIGTERM', () => {
    void speaker
      .stop({ kind: 'shutdown', text: 'end of a bench run', deadlineMs: 5_000 })
      .then(() => process.exit(0));
  });
}

main(process.argv.slice(2));
