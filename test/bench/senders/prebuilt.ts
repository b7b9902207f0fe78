/** The control: messages packed before the clock starts, written to the socket in one go by blast.ts. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchRoute, communityNumber, dotted, type Load } from '../load.ts';
import { network } from '../network.ts';
import type { Sender } from '../sender.ts';
import { endOfRib, ipv4Bytes, nlri, originAttributes, updates } from '../wire.ts';

export const blastProgram = join(import.meta.dirname, '..', 'blast.ts');

/** The whole load as messages; routes with the same communities share UPDATEs. */
export function packed(load: Load, asn: number, nextHop: string): Buffer {
  const groups = new Map<string, BenchRoute[]>();
  for (const route of load.routes) {
    const key = route.communities.join(' ');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [route]);
    else group.push(route);
  }
  const messages = [...groups.values()].flatMap((routes) => {
    const attributes = originAttributes({
      asPath: [asn],
      nextHop,
      communities: (routes[0]?.communities ?? []).map(communityNumber),
    });
    return updates(
      attributes,
      routes.map((route) => nlri(ipv4Bytes(dotted(route.address)), 32)),
    );
  });
  return Buffer.concat([...messages, endOfRib()]);
}

export const prebuilt: Sender = {
  name: 'prebuilt',
  label: 'prebuilt bytes',
  method: 'packed beforehand, one write: what the receiver itself needs',
  dialling: 'sender',
  version: async () => `node ${process.version}`,
  prepare(host, load) {
    const file = join(host.folder, 'prebuilt.bin');
    writeFileSync(file, packed(load, network.senderAsn, network.sender));
    const args = [blastProgram, network.receiver, network.sender, String(network.senderAsn), file];
    return async () => ({ processes: [host.spawn('prebuilt', process.execPath, args)] });
  },
};
