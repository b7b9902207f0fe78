/** A name server on loopback for tests: it knows what it is given, and can be silent about a name. It counts what it is asked. */

import { createSocket, type Socket } from 'node:dgram';
import { isIP } from 'node:net';

const HEADER = 12;
const TYPE_A = 1;
const TYPE_AAAA = 28;
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;

/** `addresses` of both families; 'silent': no answer at all; a name that is missing is denied */
export type Zone = Map<string, readonly string[] | 'silent'>;

export class DnsServer {
  readonly zone: Zone = new Map();
  /** names in the order in which they were asked for, once for each family */
  readonly asked: string[] = [];
  readonly #socket: Socket = createSocket('udp4');
  #isSilent = false;

  static async start(): Promise<DnsServer> {
    const server = new DnsServer();
    server.#socket.on('message', (message, from) => {
      const reply = server.#reply(message);
      if (reply !== undefined) server.#socket.send(reply, from.port, from.address);
    });
    await new Promise<void>((settle) => server.#socket.bind(0, '127.0.0.1', settle));
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  /** how often a name was asked for, both families together */
  count(name: string): number {
    return this.asked.filter((each) => each === name).length;
  }

  /** packets vanish from now on */
  fallSilent(isSilent = true): void {
    this.#isSilent = isSilent;
  }

  async close(): Promise<void> {
    await new Promise<void>((settle) => this.#socket.close(settle));
  }

  #reply(message: Buffer): Buffer | undefined {
    const { name, type, end } = readQuestion(message);
    this.asked.push(name);
    const known = this.zone.get(name);
    if (this.#isSilent || known === 'silent') return undefined;
    const family = type === TYPE_A ? 4 : type === TYPE_AAAA ? 6 : 0;
    const records = (known ?? []).filter((address) => isIP(address) === family);
    const header = Buffer.alloc(HEADER);
    message.copy(header, 0, 0, 2);
    header.writeUInt16BE(0x8180 | (known === undefined ? NO_SUCH_NAME : NO_ERROR), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    const answers = records.map((address) => record(type, address));
    return Buffer.concat([header, message.subarray(HEADER, end), ...answers]);
  }
}

function readQuestion(message: Buffer) {
  const labels: string[] = [];
  let at = HEADER;
  for (;;) {
    const length = message.readUInt8(at);
    at += 1;
    if (length === 0) break;
    labels.push(message.toString('ascii', at, at + length).toLowerCase());
    at += length;
  }
  return { name: labels.join('.'), type: message.readUInt16BE(at), end: at + 4 };
}

function record(type: number, address: string): Buffer {
  const data =
    type === TYPE_A
      ? Buffer.from(address.split('.').map(Number))
      : Buffer.from(
          // tests write IPv6 addresses with one `::`
          expand(address).flatMap((group) => [group >> 8, group & 0xff]),
        );
  const head = Buffer.from([0xc0, HEADER, 0, type, 0, 1, 0, 0, 0x0e, 0x10, 0, data.length]);
  return Buffer.concat([head, data]);
}

function expand(address: string): number[] {
  const [left = '', right = ''] = address.split('::');
  const groups = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(left), groups(right)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}
