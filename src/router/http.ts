/**
 * The router's table for other programs, read-only:
 *
 *   GET /routes   {"routes":[{"prefix","nextHops":[{"address","peer","best"}],"problem"?}]}
 *   GET /peers    {"peers":[{"peer","state","since","asn"…}]}
 *   GET /events   server-sent events: `snapshot` with both at once, then what happens, each under the name of its kind
 *
 * Nobody is asked who they are: bind it to an address where that is right. A reader of events that does not keep up is cut off.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Address, type Endpoint, formatAddress } from 'bgp-ts';
import { eventFrame, sendJson } from '../web/http-reply.ts';
import type { RouterEvent } from './events.ts';
import type { Router } from './router.ts';

export type RouterFacts = Pick<Router, 'routes' | 'peers' | 'subscribe'>;

const MAX_UNREAD_OCTETS = 4 * 1024 * 1024;
/** so that a reader behind a proxy stays connected, and one that is gone is noticed */
const PING_MS = 15_000;

export class RouterHttp {
  readonly #router: RouterFacts;
  readonly #server: Server;
  readonly #readers = new Set<ServerResponse>();
  #unsubscribe: (() => void) | undefined;
  #ping: NodeJS.Timeout | undefined;

  constructor(router: RouterFacts) {
    this.#router = router;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  /** Rejects with the system's error, such as EADDRINUSE. */
  async start(at: { readonly address: Address; readonly port: number }): Promise<Endpoint> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host: formatAddress(at.address), port: at.port }, resolve);
    });
    this.#unsubscribe = this.#router.subscribe((event) => this.#tell(event));
    this.#ping = setInterval(() => this.#write(': still here\n\n'), PING_MS);
    this.#ping.unref();
    const bound = this.#server.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : at.port;
    return { address: at.address, port };
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    clearInterval(this.#ping);
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const reader of this.#readers) reader.end();
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? '/').split('?', 1)[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      sendJson(response, 405, { error: 'this is read-only: GET' });
    } else if (path === '/routes') {
      sendJson(response, 200, { routes: this.#router.routes() });
    } else if (path === '/peers') {
      sendJson(response, 200, { peers: this.#router.peers() });
    } else if (path === '/events' && request.method === 'GET') {
      this.#follow(response);
    } else {
      sendJson(response, 404, { error: 'there are /routes, /peers and /events' });
    }
  }

  #follow(response: ServerResponse): void {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
    });
    const snapshot = { routes: this.#router.routes(), peers: this.#router.peers() };
    response.write(`retry: 1000\n${eventFrame('snapshot', snapshot)}`);
    this.#readers.add(response);
    response.on('close', () => this.#readers.delete(response));
    response.on('error', () => this.#readers.delete(response));
  }

  #tell({ kind, ...facts }: RouterEvent): void {
    if (this.#readers.size > 0) this.#write(eventFrame(kind, facts));
  }

  #write(text: string): void {
    for (const reader of this.#readers) {
      reader.write(text);
      if (reader.writableLength > MAX_UNREAD_OCTETS) reader.destroy();
    }
  }
}
