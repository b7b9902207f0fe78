/**
 * The MRT file of the decoder bench: FRR writes it (`dump bgp all`) while it receives the seeded table. Made once, kept in
 * the cache under the hash of everything that shapes it, and counted before it is kept.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { untilValue } from '../support/poll.ts';
import { cached, hashOf } from './cache.ts';
import { network } from './network.ts';
import { bgpdArgs, bgpdProgram, frr, received } from './senders/frr.ts';
import { blastProgram } from './senders/prebuilt.ts';
import { makeTable } from './table.ts';
import type { Stage } from './transfer.ts';
import { ipv4Bytes, messageType } from './wire.ts';

export const tableSeed = 4271;
export const tableRoutes = 200_000;

const boundMs = 120_000;
const bgp4mp = 16;
const messageAs4 = 4;

const config = (file: string): string => `
frr defaults traditional
dump bgp all ${file}
router bgp ${network.receiverAsn}
 bgp router-id ${network.receiver}
 no bgp ebgp-requires-policy
 neighbor ${network.sender} remote-as ${network.senderAsn}
 neighbor ${network.sender} passive
 address-family ipv6 unicast
  neighbor ${network.sender} activate
 exit-address-family
`;

/** 2001:db8:99::2 */
const nextHop6 = Uint8Array.of(0x20, 1, 0x0d, 0xb8, 0, 0x99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2);

/** UPDATE messages in the file; the records are walked here by hand, no decoder under test takes part. */
function countUpdates(file: string): number {
  const data = readFileSync(file);
  let updates = 0;
  for (let at = 0; at + 12 <= data.length; ) {
    const size = data.readUInt32BE(at + 8);
    const isMessage =
      data.readUInt16BE(at + 4) === bgp4mp && data.readUInt16BE(at + 6) === messageAs4;
    // Two AS numbers, interface, address family, two IPv4 addresses: 20 octets, then the message.
    if (isMessage && data[at + 12 + 20 + 18] === messageType.update) updates += 1;
    at += 12 + size;
  }
  return updates;
}

async function record(stage: Stage, target: string): Promise<void> {
  const { receiver, sender } = stage;
  const table = makeTable({
    seed: tableSeed,
    routes: tableRoutes,
    asn: network.senderAsn,
    nextHop: ipv4Bytes(network.sender),
    nextHop6,
  });
  const feed = join(sender.folder, 'table.bin');
  writeFileSync(feed, Buffer.concat([...table.messages]));
  const dump = join(receiver.folder, 'table.mrt');
  const file = join(receiver.folder, 'dump.conf');
  const folder = join(receiver.folder, 'dump-run');
  writeFileSync(file, config(dump));
  const bgpd = receiver.spawn('dump', bgpdProgram, bgpdArgs(file, folder));
  await untilValue(
    'bgpd answers',
    () => received(receiver, folder, network.sender),
    () => true,
  );
  const args = [network.receiver, network.sender, String(network.senderAsn), feed, '1,2'];
  const blast = sender.spawn('dump-feed', process.execPath, [blastProgram, ...args]);
  try {
    await untilValue(
      `bgpd has ${table.routes} routes`,
      () => received(receiver, folder, network.sender),
      (count) => count === table.routes,
      { timeoutMs: boundMs, everyMs: 250 },
    );
    await untilValue(
      `the dump holds ${table.messages.length} UPDATEs`,
      () => countUpdates(dump),
      (count) => count === table.messages.length,
    );
  } finally {
    await blast.kill();
    await bgpd.kill();
  }
  await copyFile(dump, target);
}

/** The path of the file, made now if it is not in the cache. */
export async function frrDump(stage: Stage): Promise<string> {
  const makers = ['table.ts', 'wire.ts', 'frr-dump.ts'].map((name) =>
    readFileSync(join(import.meta.dirname, name)),
  );
  const hash = hashOf([...makers, (await frr.version()) ?? '']);
  return await cached(`frr-${tableRoutes}-${hash}.mrt`, (target) => record(stage, target));
}
