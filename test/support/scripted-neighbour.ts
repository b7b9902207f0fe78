/**
 * A BGP neighbour that does what a test says, on real sockets of the loopback: it takes our dial or dials us, sends any
 * octets, records every message that comes, stops reading (the window closes), half-closes, resets or stays silent.
 *
 * It reads headers with twenty lines of its own, and refuses what is not framed: what it records is what was on the wire.
 * Waiting is bounded everywhere and a failure tells what came instead.
 */

import { createServer, type Server, Socket } from 'node:net';
import { fileDescriptor } from '../../protocol/io/file-descriptor.ts';
import { int32, setOption } from '../../protocol/io/libc.ts';
import { KEEPALIVE, type OpenFields, open, Type, toHex } from './wire-bytes.ts';

export interface Received {
  readonly type: number;
  /** without the header */
  readonly body: Uint8Array;
  /** with it */
  readonly bytes: Uint8Array;
  /** since the connection stood */
  readonly afterMs: number;
}

/** How the other side ended it: a FIN, a RST, or not yet. */
export type Ending = 'open' | 'fin' | 'reset';

export interface Wait {
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 20_000;
const HEADER = 19;

export class NeighbourConnection {
  readonly #socket: Socket;
  readonly #started = performance.now();
  readonly #messages: Received[] = [];
  readonly #waiters = new Set<() => void>();
  #pending: Buffer = Buffer.alloc(0);
  #read = 0;
  #ending: Ending = 'open';
  #broken: string | undefined;
  #keepalives: NodeJS.Timeout | undefined;
  /** called for each message as it comes, before it is recorded; false = do not record it */
  onMessage: (message: Received) => boolean = () => true;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => {
      this.#end('fin');
      // the other side is done: so are we
      socket.end();
    });
    socket.on('error', () => this.#end('reset'));
    socket.on('close', () => {
      clearInterval(this.#keepalives);
      this.#end('fin');
    });
  }

  /** every message so far, keepalives too */
  get messages(): readonly Received[] {
    return this.#messages;
  }

  get ending(): Ending {
    return this.#ending;
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? '';
  }

  get remotePort(): number {
    return this.#socket.remotePort ?? 0;
  }

  send(...chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) this.#socket.write(chunk);
  }

  /** keepalives from now on, so that the other side's hold timer never runs out */
  keepAlive(everyMs: number): void {
    this.#keepalives = setInterval(() => this.#socket.write(KEEPALIVE), everyMs);
  }

  silence(): void {
    clearInterval(this.#keepalives);
  }

  /** our receive window fills up and closes */
  pauseReading(): void {
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#socket.resume();
  }

  /** FIN from our side; theirs stays open */
  halfClose(): void {
    this.#socket.end();
  }

  /** RST */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  close(): void {
    clearInterval(this.#keepalives);
    this.#socket.destroy();
  }

  /** the next message that is not a keepalive, which must be of this type */
  async expectMessage(type: number, wait: Wait = {}): Promise<Received> {
    const message = await this.#next(wait, `a message of type ${type}`, isNotKeepalive);
    if (message.type !== type) {
      throw new Error(`expected type ${type}, got ${message.type}: ${toHex(message.bytes)}`);
    }
    return message;
  }

  async expectKeepalive(wait: Wait = {}): Promise<Received> {
    const message = await this.#next(wait, 'a keepalive', () => true);
    if (message.type !== Type.keepalive) throw new Error(`no keepalive: ${toHex(message.bytes)}`);
    return message;
  }

  /** the NOTIFICATION that comes next, as `code/subcode data` */
  async expectNotification(wait: Wait = {}): Promise<string> {
    return describe((await this.expectMessage(Type.notification, wait)).body);
  }

  /** the connection ends, and no further message but keepalives came before it did */
  async expectEnd(wait: Wait = {}): Promise<Ending> {
    await this.#until(wait, 'the end of the connection', () => this.#ending !== 'open');
    const left = this.unread.filter(isNotKeepalive);
    if (left.length > 0) throw new Error(`came before the end: ${left.map(show).join(', ')}`);
    return this.#ending;
  }

  /** resolves once `accept` holds for all that came */
  async until(what: string, accept: () => boolean, wait: Wait = {}): Promise<void> {
    await this.#until(wait, what, accept);
  }

  /** messages that no `expect…` has taken yet */
  get unread(): readonly Received[] {
    return this.#messages.slice(this.#read);
  }

  /** from here on only what comes now is expected */
  forget(): void {
    this.#read = this.#messages.length;
  }

  /** everything up to the established session: OPENs, KEEPALIVEs and our side's End-of-RIB of each family */
  async establish(fields: OpenFields = {}, endOfRibs = 2): Promise<Received> {
    const theirs = await this.expectMessage(Type.open);
    this.send(open(fields), KEEPALIVE);
    await this.expectKeepalive();
    for (let count = 0; count < endOfRibs; ) {
      const { body } = await this.expectMessage(Type.update);
      if (endOfRibFamily(body)) count += 1;
    }
    return theirs;
  }

  async #next(wait: Wait, what: string, accept: (message: Received) => boolean): Promise<Received> {
    let found: Received | undefined;
    const isThere = () => {
      while (this.#read < this.#messages.length) {
        const message = this.#messages[this.#read];
        this.#read += 1;
        if (message === undefined || !accept(message)) continue;
        found = message;
        return true;
      }
      return false;
    };
    await this.#until(wait, what, () => isThere() || this.#ending !== 'open');
    if (found === undefined)
      throw new Error(`the connection ended (${this.#ending}) before ${what}`);
    return found;
  }

  #until(wait: Wait, what: string, accept: () => boolean): Promise<void> {
    const timeoutMs = wait.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    return new Promise((resolve, reject) => {
      const check = () => {
        if (this.#broken !== undefined) settle(() => reject(new Error(this.#broken)));
        else if (accept()) settle(resolve);
      };
      const settle = (how: () => void) => {
        clearTimeout(timer);
        this.#waiters.delete(check);
        how();
      };
      const timer = setTimeout(() => {
        const seen = this.#messages.map(show).slice(-8).join(', ');
        settle(() => reject(new Error(`not within ${timeoutMs} ms: ${what}; came: ${seen}`)));
      }, timeoutMs);
      this.#waiters.add(check);
      check();
    });
  }

  #onData(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (this.#pending.length >= HEADER) {
      const length = this.#pending.readUInt16BE(16);
      const isMarked = this.#pending.subarray(0, 16).every((octet) => octet === 0xff);
      if (!isMarked || length < HEADER) {
        this.#broken = `what came is no BGP message: ${this.#pending.subarray(0, 40).toString('hex')}`;
        break;
      }
      if (this.#pending.length < length) break;
      const bytes = Uint8Array.from(this.#pending.subarray(0, length));
      this.#pending = this.#pending.subarray(length);
      const afterMs = performance.now() - this.#started;
      const received = { type: bytes[18] ?? 0, body: bytes.subarray(HEADER), bytes, afterMs };
      if (this.onMessage(received)) this.#messages.push(received);
    }
    this.#wake();
  }

  #end(how: Ending): void {
    if (this.#ending === 'open') this.#ending = how;
    this.#wake();
  }

  #wake(): void {
    for (const check of [...this.#waiters]) check();
  }
}

export interface NeighbourPortOptions {
  readonly host?: string;
  readonly port?: number;
  /** a fixed receive buffer: otherwise the kernel lets it grow to tens of megabytes before the window closes */
  readonly receiveBufferBytes?: number;
}

const SO_RCVBUF = [1, 8] as const;

/** The port on which a neighbour waits for our dial. */
export class NeighbourPort {
  readonly #server: Server;
  readonly #connections: NeighbourConnection[] = [];
  readonly #waiters: ((connection: NeighbourConnection) => void)[] = [];
  #taken = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(options: NeighbourPortOptions = {}): Promise<NeighbourPort> {
    const server = createServer({ allowHalfOpen: true });
    const port = new NeighbourPort(server);
    server.on('connection', (socket) => port.#onConnection(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
    });
    if (options.receiveBufferBytes !== undefined) {
      setOption(fileDescriptor(server), SO_RCVBUF, int32(options.receiveBufferBytes));
    }
    return port;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('not listening');
    return address.port;
  }

  /** connections so far, taken or not */
  get count(): number {
    return this.#connections.length;
  }

  /** the next connection that our side dialled */
  accept(wait: Wait = {}): Promise<NeighbourConnection> {
    const timeoutMs = wait.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const there = this.#connections[this.#taken];
    this.#taken += 1;
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`nobody dialled within ${timeoutMs} ms`));
      }, timeoutMs);
      this.#waiters.push((connection) => {
        clearTimeout(timer);
        resolve(connection);
      });
    });
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #onConnection(socket: Socket): void {
    const connection = new NeighbourConnection(socket);
    this.#connections.push(connection);
    this.#waiters.shift()?.(connection);
  }
}

/** Dials our side's listening port. A reset that is faster than our own event loop is a connection that was reset. */
export function dialSpeaker(
  port: number,
  options: { readonly host?: string; readonly localAddress?: string } = {},
): Promise<NeighbourConnection> {
  const { host = '127.0.0.1', localAddress } = options;
  const socket = new Socket({ allowHalfOpen: true });
  const connection = new NeighbourConnection(socket);
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(connection));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') resolve(connection);
      else reject(error);
    });
    socket.connect({ port, host, ...(localAddress === undefined ? {} : { localAddress }) });
  });
}

/** A NOTIFICATION's body as `6/2 hex`. */
export function describe(body: Uint8Array): string {
  return `${body[0]}/${body[1]} ${toHex(body.subarray(2))}`.trimEnd();
}

/** RFC 4724 §2: an UPDATE with nothing, or with nothing but an empty MP_UNREACH_NLRI. */
export function endOfRibFamily(body: Uint8Array): boolean {
  const text = toHex(body);
  return text === '00000000' || /^00000006800f03....01$|^00000007900f0003....01$/.test(text);
}

function isNotKeepalive(message: Received): boolean {
  return message.type !== Type.keepalive;
}

function show(message: Received): string {
  const text = toHex(message.body);
  return `type ${message.type} ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`;
}
