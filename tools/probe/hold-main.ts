/**
 * A client that keeps its connections: opens some to one address, asks a small question over each again and again, and writes down
 * which of them are cut, when and by what. One that is cut is not opened again: what is counted are those that were there
 * before. hold-log.ts reads what is written. SIGTERM ends it.
 *
 * usage: hold-main.ts ADDRESS PORT CONNECTIONS EVERY_MS OUTPUT
 */

import { closeSync, openSync, writeSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { nowMs } from './monotonic.ts';

/** TCP sends again what was lost on the way; after so long nobody waits any more. */
const silentMs = 10_000;

const [address = '', port = '', connections = '', everyMs = '', output = ''] =
  process.argv.slice(2);
const request = `GET /readyz HTTP/1.1\r\nHost: ${address}\r\n\r\n`;
const log = openSync(output, 'w');
const sockets = new Set<Socket>();
let untried = Number(connections);
let open = 0;
let isCounting = false;

function write(line: string): void {
  writeSync(log, `${line}\n`);
}

function tried(isOpen: boolean): void {
  untried -= 1;
  if (isOpen) open += 1;
  if (untried > 0) return;
  write(`open ${open}`);
  isCounting = true;
}

function hold(): void {
  const socket = connect({ host: address, port: Number(port) });
  sockets.add(socket);
  let hasAnswered = false;
  let isOver = false;
  let answer = '';
  let silence: NodeJS.Timeout | undefined;
  let next: NodeJS.Timeout | undefined;
  const end = (reason: string) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(silence);
    clearTimeout(next);
    sockets.delete(socket);
    socket.resetAndDestroy();
    if (!hasAnswered) tried(false);
    else if (isCounting) write(`cut ${nowMs().toFixed(3)} ${reason}`);
    // it was counted as open and is gone before the count began
    else open -= 1;
  };
  const ask = () => {
    answer = '';
    clearTimeout(silence);
    silence = setTimeout(() => end('silent'), silentMs);
    socket.write(request);
  };
  socket.on('connect', ask);
  socket.on('error', (error) => {
    const code = 'code' in error ? String(error.code) : error.message;
    end(code === 'ECONNRESET' ? 'reset' : code);
  });
  socket.on('end', () => end('closed'));
  socket.on('close', () => end('closed'));
  socket.on('data', (chunk: Uint8Array) => {
    answer += Buffer.from(chunk).toString('latin1');
    if (isOver || !isWhole(answer)) return;
    clearTimeout(silence);
    next = setTimeout(ask, Number(everyMs));
    if (hasAnswered) return;
    hasAnswered = true;
    tried(true);
  });
  // a connection that never comes about ends as one that is silent
  silence = setTimeout(() => end('silent'), silentMs);
}

/** Headers, and as much behind them as they say. */
function isWhole(answer: string): boolean {
  const headers = answer.indexOf('\r\n\r\n');
  const length = /^content-length: *(\d+)/im.exec(answer)?.[1];
  return headers >= 0 && answer.length >= headers + 4 + Number(length ?? 0);
}

process.on('SIGTERM', () => {
  closeSync(log);
  process.exit(0);
});
for (let started = 0; started < Number(connections); started += 1) hold();
// what it holds may all be cut, and its log is asked for later
setInterval(() => undefined, 60_000);
