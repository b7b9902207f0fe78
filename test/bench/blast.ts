/**
 * A BGP sender with no thought in it: says OPEN, answers with KEEPALIVE, and the moment the peer's KEEPALIVE is there writes a
 * file of prebuilt messages to the socket in one go. What a receiver needs to take that in is its own limit, and the
 * control of every other sender. SIGTERM sends Cease and ends.
 *
 * Usage: node blast.ts PEER SOURCE ASN FILE [AFI,AFI]; the source address is the router id too.
 */

import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { cease, frames, keepalive, messageType, open } from './wire.ts';

const holdTimeSeconds = 180;
const keepaliveEveryMs = 30_000;

function main(argv: readonly string[]): void {
  const [peer, source, asn, file, afis] = argv;
  if (peer === undefined || source === undefined || file === undefined) {
    process.stderr.write('usage: blast.ts PEER SOURCE ASN FILE [AFI,AFI]\n');
    process.exit(2);
  }
  const prebuilt = readFileSync(file);
  const socket = connect({ host: peer, port: 179, localAddress: source, noDelay: true });
  let received: Buffer = Buffer.alloc(0);
  let isEstablished = false;
  const handle = (type: number | undefined): void => {
    if (type === messageType.open) socket.write(keepalive());
    if (type === messageType.notification) process.exit(1);
    if (type !== messageType.keepalive || isEstablished) return;
    isEstablished = true;
    socket.write(prebuilt);
    setInterval(() => socket.write(keepalive()), keepaliveEveryMs);
  };
  socket.on('connect', () => {
    const families = (afis ?? '1').split(',').map(Number);
    socket.write(open({ asn: Number(asn), routerId: source, holdTimeSeconds, afis: families }));
  });
  socket.on('data', (chunk: Buffer) => {
    const cut = frames(Buffer.concat([received, chunk]));
    received = cut.rest;
    for (const one of cut.messages) handle(one[18]);
  });
  socket.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  socket.on('close', () => process.exit(1));
  process.on('SIGTERM', () => socket.end(cease(), () => process.exit(0)));
}

main(process.argv.slice(2));
