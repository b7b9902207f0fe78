/**
 * The client's side of a fail-over: opens a new TCP connection to one address every few milliseconds, asks who answers, and
 * writes down the moment and the outcome. Open loop: a probe that hangs holds up no other, so what is lost is counted
 * and not hidden behind the wait for it. Bounded in number; SIGTERM ends the sending early. A program of its own, so that
 * neither the tests nor a router can hold up its clock.
 *
 * A connection that was open and is then reset is told apart (`reset`): that is what happens to a flow whose way changes under
 * it. (A reset that answers a SYN is another thing, ECONNREFUSED.) A datagram cannot be caught so: one way there, one answer. A connection that
 * never came about (`timeout`) and one that did and was never answered (`no-answer`) are told apart as well: they are lost in different places.
 *
 * usage: probe-main.ts plain|https:CA_FILE|udp ADDRESS PORT EVERY_MS COUNT OUTPUT
 */

import { createSocket } from 'node:dgram';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { nowMs } from './monotonic.ts';

const [how = '', address = '', port = '', everyMs = '', count = '', output = ''] =
  process.argv.slice(2);
/**
 * Below the second after which the kernel sends a lost SYN again: a probe never counts as answered late. Nobody sends a datagram again, so its
 * answer may take as long as a busy machine needs.
 */
const timeoutMs = how === 'udp' ? 10_000 : 950;
/** A timer that is later than this was not held up by other probes. */
const asleepMs = 100;
const ca = how.startsWith('https:') ? readFileSync(how.slice('https:'.length), 'utf8') : undefined;
const log = openSync(output, 'w');
let lines: string[] = [];
let open = 0;
let isStopping = false;
process.on('SIGTERM', () => {
  isStopping = true;
});

function flush(): void {
  if (lines.length > 0) writeSync(log, lines.join(''));
  lines = [];
}

type Finish = (outcome: string) => void;

/** Writes down one outcome, the first; `end` lets go of what the probe holds, `late` says what it waited for in vain. */
function begin(end: () => void, late = () => '!timeout'): Finish {
  const sentMs = nowMs();
  open += 1;
  let isOver = false;
  const finish = (outcome: string) => {
    if (isOver) return;
    isOver = true;
    open -= 1;
    clearTimeout(timer);
    lines.push(`${sentMs.toFixed(3)} ${(nowMs() - sentMs).toFixed(3)} ${outcome}\n`);
    end();
  };
  let timer = setTimeout(() => {
    const lateMs = nowMs() - sentMs - timeoutMs;
    if (lateMs < asleepMs) return finish(late());
    // this process got no processor: what came meanwhile, or could not leave, has as much time again
    timer = setTimeout(() => finish(late()), Math.min(lateMs, timeoutMs));
  }, timeoutMs);
  return finish;
}

const datagrams = createSocket('udp4');
const waiting = new Map<string, Finish>();
let sequence = 0;
datagrams.on('message', (bytes) => {
  const [number = '', who = '!nameless'] = bytes.toString('latin1').split(' ');
  waiting.get(number)?.(who);
});
datagrams.on('error', () => undefined);
// answers are not to be lost here, while this process waits for a processor
datagrams.on('listening', () => datagrams.setRecvBufferSize(4_000_000));

function probeByDatagram(): void {
  sequence += 1;
  const number = String(sequence);
  const finish = begin(() => waiting.delete(number));
  waiting.set(number, finish);
  datagrams.send(number, Number(port), address, (error) => {
    if (error !== null) finish(`!${'code' in error ? error.code : error.message}`);
  });
}

function probeByConnection(): void {
  let isOpen = false;
  let isAnswered = false;
  const socket = dial();
  const finish = begin(
    () => letGo(socket, isAnswered),
    () => (isOpen ? '!no-answer' : '!timeout'),
  );
  socket.on('connect', () => {
    isOpen = true;
  });
  socket.on('error', (error) => {
    const code = 'code' in error ? String(error.code) : error.message;
    // also when it was open for the kernel only, and reset before this process had heard of it
    finish(code === 'ECONNRESET' ? '!reset' : `!${code}`);
  });
  socket.on('close', () => finish('!closed'));
  let answer = '';
  socket.on('data', (chunk: Uint8Array) => {
    answer += Buffer.from(chunk).toString('latin1');
    const status = /^HTTP\/1\.[01] (\d+)[^\n]*\n/.exec(answer)?.[1];
    if (status === undefined || !answer.includes('\r\n\r\n')) return;
    isAnswered = true;
    const who = ca === undefined ? /^x-node: *(\S+)/im.exec(answer)?.[1] : nameOf(socket);
    finish(status === '200' ? (who ?? '!nameless') : `!HTTP-${status}`);
  });
}

/**
 * Our end comes first, as a browser's does: the TIME_WAIT is then ours, where it costs a port for a minute, and not the server's. There it would be of an address
 * and port that a node gave the connection on the way, may give to another soon, and which the server then takes for the old one. Not by a reset: a node on
 * the way remembers a connection that was reset, and where it went, for ten seconds. A SYN from the same port makes it forget,
 * unless the server's end came in behind the reset; then it goes where the old one went, even to a pod that has left since.
 */
function letGo(socket: Socket, isAnswered: boolean): void {
  // one that never came about would wait for that before it is reset
  if (ca !== undefined || socket.connecting) socket.destroy();
  else if (!isAnswered) socket.resetAndDestroy();
  else {
    socket.end();
    const impatience = setTimeout(() => socket.resetAndDestroy(), timeoutMs);
    socket.on('close', () => clearTimeout(impatience));
  }
}

function dial(): Socket {
  const request = `GET /readyz HTTP/1.1\r\nHost: ${address}\r\n\r\n`;
  const target = { host: address, port: Number(port) };
  if (ca === undefined) {
    const socket = connect(target);
    socket.on('connect', () => socket.write(request));
    return socket;
  }
  const socket = tlsConnect({ ...target, ca });
  socket.on('secureConnect', () => socket.write(request));
  return socket;
}

/** Which server it was: over TLS, the one whose certificate it is. */
function nameOf(socket: Socket): string | undefined {
  const certificate = 'getPeerCertificate' in socket ? peerOf(socket) : undefined;
  const name = certificate?.subject?.CN;
  return typeof name === 'string' ? name : undefined;
}

function peerOf(socket: Socket): ReturnType<TLSSocket['getPeerCertificate']> | undefined {
  const method: unknown = Reflect.get(socket, 'getPeerCertificate');
  return typeof method === 'function' ? Reflect.apply(method, socket, []) : undefined;
}

const probe = how === 'udp' ? probeByDatagram : probeByConnection;
const started = nowMs();
let sent = 0;
while (!isStopping && sent < Number(count)) {
  while (sent < Number(count) && nowMs() >= started + sent * Number(everyMs)) {
    probe();
    sent += 1;
  }
  flush();
  await delay(Math.max(0, started + sent * Number(everyMs) - nowMs()));
}
while (open > 0) await delay(5);
flush();
closeSync(log);
datagrams.close();
