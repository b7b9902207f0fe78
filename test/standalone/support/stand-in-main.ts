/**
 * A master's API server as far as a fail-over can see it: one port of all addresses that speaks HTTPS (`/readyz`, for the join
 * check) and plain HTTP (for a thousand probes a second without a thousand handshakes), told apart by the first octet. It says
 * which node it is. While the file UNREADY exists it answers 503; with a number in
 * it, so many times over HTTPS and no more. On UDP it sends back what it got, with its name.
 *
 * usage: stand-in-main.ts NAME PORT CERTIFICATE KEY UNREADY
 */

import { createSocket } from 'node:dgram';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer } from 'node:net';

const [name = '', port = '', certificate = '', key = '', unready = ''] = process.argv.slice(2);
const tlsHandshake = 0x16;

function isUnready(isSecure: boolean): boolean {
  if (!existsSync(unready)) return false;
  const text = readFileSync(unready, 'utf8');
  if (text === '') return true;
  if (!isSecure) return false;
  const left = Number(text);
  // The file goes with the first answer that is good again: whoever waits for that knows that the row of failures has ended.
  if (left === 0) rmSync(unready);
  else writeFileSync(unready, String(left - 1));
  return left > 0;
}

const answer = (isSecure: boolean) => (_request: IncomingMessage, response: ServerResponse) => {
  response.statusCode = isUnready(isSecure) ? 503 : 200;
  response.setHeader('x-node', name);
  response.end(`${name}\n`);
};

const plain = createHttp(answer(false));
const secure = createHttps(
  { cert: readFileSync(certificate), key: readFileSync(key) },
  answer(true),
);
for (const server of [plain, secure]) server.on('clientError', (_, socket) => socket.destroy());
secure.on('tlsClientError', (_, socket) => socket.destroy());

createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('readable', () => {
    const first: Buffer | null = socket.read();
    if (first === null) return;
    socket.unshift(first);
    (first[0] === tlsHandshake ? secure : plain).emit('connection', socket);
  });
}).listen({ port: Number(port), host: '0.0.0.0', backlog: 4096 });

const datagrams = createSocket('udp4');
datagrams.on('message', (bytes, from) => {
  datagrams.send(`${bytes.toString('latin1')} ${name}`, from.port, from.address);
});
// a server that is not scheduled for a tenth of a second must not be taken for a router that lost packets
datagrams.bind(Number(port), '0.0.0.0', () => datagrams.setRecvBufferSize(4_000_000));
