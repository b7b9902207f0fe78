/**
 * The program of api-relay.ts: `relay-main.ts LISTEN CONNECT`, each `unix:PATH` or `tcp:PORT` on loopback. Bytes go through as they are, an end of one
 * direction too.
 */

import { connect, createServer, type Socket } from 'node:net';

const [from = '', to = ''] = process.argv.slice(2);

const endpoint = (text: string) =>
  text.startsWith('unix:')
    ? { path: text.slice('unix:'.length) }
    : { host: '127.0.0.1', port: Number(text.slice('tcp:'.length)) };

function join(a: Socket, b: Socket): void {
  a.pipe(b);
  b.pipe(a);
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const) {
    one.setNoDelay(true);
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}

createServer({ allowHalfOpen: true }, (client) => {
  join(client, connect({ ...endpoint(to), allowHalfOpen: true }));
}).listen(endpoint(from), () => process.stdout.write('listening\n'));
