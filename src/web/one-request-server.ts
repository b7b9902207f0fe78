/**
 * An HTTP server for callers that nobody has asked who they are. It shares the main thread with BGP sessions and elections, so callers
 * must not decide how much of it they get:
 *
 *   one request per connection: what is pipelined behind it is read and dropped, unparsed;
 *   a request must arrive, and its answer must be read, within a time;
 *   connections are few in all and fewer per address. A newcomer takes the place of the oldest connection of the address that has the
 *   most, so that probes of a kubelet get through while somebody else holds all that one address can get.
 *
 * Node's own server answers all pipelined requests of a chunk within one turn, before any timer; `maxRequestsPerSocket` only makes most
 * of these answers short. Hence the head of the first request is cut off here, and nothing else reaches Node's parser.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';

export interface OneRequestLimits {
  readonly maxConnections: number;
  readonly maxPerAddress: number;
  /** for the request to arrive */
  readonly headMs: number;
  /** for the answer to be read */
  readonly answerMs: number;
}

const LIMITS: OneRequestLimits = {
  maxConnections: 64,
  maxPerAddress: 16,
  headMs: 5000,
  answerMs: 10_000,
};
const MAX_HEAD = 8192;
/** what a client may send behind its request before it is cut off */
const MAX_DROPPED = 1024 * 1024;
const HEAD_END = Buffer.from('\r\n\r\n');

export class OneRequestServer {
  readonly #limits: OneRequestLimits;
  /** parses heads and writes answers; it never listens */
  readonly #http: Server;
  readonly #net: NetServer;
  /** oldest first */
  readonly #guests = new Set<Guest>();

  constructor(
    answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
    limits: Partial<OneRequestLimits> = {},
  ) {
    this.#limits = { ...LIMITS, ...limits };
    this.#http = createServer({ maxHeaderSize: MAX_HEAD }, (request, response) => {
      response.shouldKeepAlive = false;
      response.on('error', () => response.destroy());
      // a mistake in an answer is the caller's loss, never the end of the process
      void (async () => await answer(request, response))().catch(() => failed(response));
    });
    // a client may close its half once it has asked
    this.#net = createNetServer({ allowHalfOpen: true }, (socket) => this.#welcome(socket));
  }

  /** how many are open */
  get connections(): number {
    return this.#guests.size;
  }

  /** Resolves to the port; rejects with the system's error, such as EADDRINUSE. */
  async listen(at: { readonly host?: string; readonly port: number }): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#net.once('error', reject);
      this.#net.listen({ ...at }, resolve);
    });
    // accepting may fail later, for want of descriptors: the listener stays
    this.#net.on('error', () => undefined);
    const bound = this.#net.address();
    return typeof bound === 'object' && bound !== null ? bound.port : at.port;
  }

  async close(): Promise<void> {
    if (!this.#net.listening) return;
    const closed = new Promise<void>((resolve) => this.#net.close(() => resolve()));
    for (const { socket } of this.#guests) socket.destroy();
    await closed;
  }

  /** For an answer that has no end, such as a stream of events: its reader is not measured by the clock, and is gone when it closes its half. */
  endless({ socket }: ServerResponse): void {
    for (const guest of this.#guests) {
      if (guest.channel !== socket) continue;
      guest.isEndless = true;
      clearTimeout(guest.timer);
      if (guest.hasEnded === true) guest.channel.push(null);
    }
  }

  #welcome(socket: Socket): void {
    const guest: Guest = { socket, address: socket.remoteAddress ?? '' };
    this.#makeRoom(guest.address);
    this.#guests.add(guest);
    const isLate = () => socket.destroy();
    guest.timer = setTimeout(isLate, this.#limits.headMs);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(guest.timer);
      this.#guests.delete(guest);
      guest.channel?.destroy();
    });
    // whoever has closed its half has asked, and waits for the answer: to Node's server an end is the end of both
    socket.on('end', () => {
      guest.hasEnded = true;
      if (guest.channel === undefined) socket.end();
      else if (guest.isEndless === true) guest.channel.push(null);
    });
    let head = Buffer.alloc(0);
    let dropped = 0;
    socket.on('data', (chunk: Buffer) => {
      if (guest.channel !== undefined) {
        dropped += chunk.length;
        if (dropped > MAX_DROPPED) socket.destroy();
        return;
      }
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf(HEAD_END);
      // one that is too long goes on as it is: the parser says so
      if (end < 0 && head.length <= MAX_HEAD) return;
      clearTimeout(guest.timer);
      guest.timer = setTimeout(isLate, this.#limits.answerMs);
      const request = end < 0 ? head : head.subarray(0, end + HEAD_END.length);
      guest.channel = channelOf(socket, request);
      this.#http.emit('connection', guest.channel);
    });
  }

  #makeRoom(address: string): void {
    const { maxConnections, maxPerAddress } = this.#limits;
    const counts = new Map<string, number>();
    for (const guest of this.#guests)
      counts.set(guest.address, (counts.get(guest.address) ?? 0) + 1);
    if ((counts.get(address) ?? 0) >= maxPerAddress) this.#closeOldest(address);
    else if (this.#guests.size >= maxConnections) {
      const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
      if (most !== undefined) this.#closeOldest(most[0]);
    }
  }

  #closeOldest(address: string): void {
    for (const guest of this.#guests) {
      if (guest.address !== address) continue;
      // at once, not when the socket says so: the place is needed now
      this.#guests.delete(guest);
      guest.socket.destroy();
      return;
    }
  }
}

interface Guest {
  readonly socket: Socket;
  readonly address: string;
  /** what Node's server has for a connection; absent until a whole head is there */
  channel?: Duplex;
  /** its half of the connection is closed */
  hasEnded?: boolean;
  isEndless?: boolean;
  timer?: NodeJS.Timeout;
}

/** One request and then silence, whatever else the socket may say; what is written goes to the socket. */
function channelOf(socket: Socket, request: Buffer): Duplex {
  const channel = new Duplex({
    read: () => undefined,
    write: (chunk, _encoding, done) => void socket.write(chunk, done),
    final: (done) => {
      socket.destroySoon();
      done();
    },
    destroy: (error, done) => {
      // what was answered is still on its way to its reader
      if (!socket.writableEnded) socket.destroy();
      done(error);
    },
  });
  channel.on('error', () => undefined);
  channel.push(request);
  return channel;
}

function failed(response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' });
  response.end('the answer cannot be made\n');
}
