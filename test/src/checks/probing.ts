/** Asking a real target in a test: the answer, how long it took, and servers that are gone afterwards. */

import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { nodeProbe } from '../../../src/checks/probe.ts';
import type { Answer } from '../../../src/checks/verdict.ts';
import type { CheckTarget } from '../../../src/model/check-spec.ts';
import type { ServerCertificate } from '../../support/certificates.ts';

export interface Timed extends Answer {
  readonly tookMs: number;
}

/** Much longer than any answer takes: a target that answers does so on a busy machine too. */
export const PATIENT_MS = 20_000;

export function probe(target: CheckTarget, timeoutMs = PATIENT_MS): Promise<Timed> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    let answers = 0;
    nodeProbe(target, {
      timeoutMs,
      signal: new AbortController().signal,
      answer: (answer) => {
        answers += 1;
        if (answers > 1) reject(new Error(`answered ${answers} times`));
        // a second answer would come soon after the first
        setImmediate(() => resolve({ ...answer, tookMs: performance.now() - started }));
      },
    });
  });
}

/** Servers of a test file on loopback, and the sockets that they see: all closed by `close`. */
export class Servers {
  readonly #servers: NetServer[] = [];
  readonly sockets = new Set<Socket>();

  async listen(server: NetServer, host = '127.0.0.1'): Promise<number> {
    this.#servers.push(server);
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, host, resolve);
    });
    return portOf(server.address());
  }

  async http(handler: RequestListener): Promise<string> {
    return `http://127.0.0.1:${await this.listen(createHttpServer(handler))}/`;
  }

  async https({ cert, key }: ServerCertificate, handler: RequestListener): Promise<string> {
    const server: Server = createHttpsServer({ cert, key }, handler);
    server.on('tlsClientError', () => {});
    return `https://127.0.0.1:${await this.listen(server)}/`;
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
