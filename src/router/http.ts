/**
 * The router's table for other programs, read-only:
 *
 *   GET /routes   {"routes":[{"prefix","nextHops":[{"address","peer","best"}],"problem"?}]}
 *   GET /peers    {"peers":[{"peer","state","since","asn"…}]}
 *   GET /events   server-sent events: `snapshot` with both at once, then what happens, each under the name of its kind
 *
 * Nobody is asked who they are: bind it to an address where that is right. A reader of events that does not keep up is cut off.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Address, type Endpoint, formatAddress } from 'bgp-ts';
import { StatusDesk } from '../control/status-desk.ts';
import { eventFrame, eventText, sendJson, sendJsonText } from '../web/http-reply.ts';
import { OneRequestServer } from '../web/one-request-server.ts';
import type { RouterEvent } from './events.ts';
import type { Router } from './router.ts';

export type RouterFacts = Pick<Router, 'routes' | 'peers' | 'subscribe'>;

const MAX_UNREAD_OCTETS = 4 * 1024 * 1024;
/** so that a reader behind a proxy stays connected, and one that is gone is noticed */
const PING_MS = 15_000;

/** JSON, made once for all that ask at a time */
interface Tables {
  readonly routes: string;
  readonly peers: string;
}

export class RouterHttp {
  readonly #router: RouterFacts;
  readonly #server: OneRequestServer;
  readonly #readers = new Set<ServerResponse>();
  readonly #desk: StatusDesk<Tables>;
  #unsubscribe: (() => void) | undefined;
  #ping: NodeJS.Timeout | undefined;

  constructor(router: RouterFacts) {
    this.#router = router;
    this.#desk = new StatusDesk(() => ({
      routes: JSON.stringify(router.routes()),
      peers: JSON.stringify(router.peers()),
    }));
    this.#server = new OneRequestServer((request, response) => this.#answer(request, response));
  }

  /** Rejects with the system's error, such as EADDRINUSE. */
  async start(at: { readonly address: Address; readonly port: number }): Promise<Endpoint> {
    const host = formatAddress(at.address);
    const port = await this.#server.listen({ host, port: at.port });
    this.#unsubscribe = this.#router.subscribe((event) => this.#tell(event));
    this.#ping = setInterval(() => this.#write(': still here\n\n'), PING_MS);
    this.#ping.unref();
    return { address: at.address, port };
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    clearInterval(this.#ping);
    for (const reader of this.#readers) reader.end();
    await this.#server.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? '/').split('?', 1)[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      sendJson(response, 405, { error: 'this is read-only: GET' });
    } else if (path === '/routes') {
      const send = ({ routes }: Tables) => sendJsonText(response, `{"routes":${routes}}`);
      this.#desk.ask(send, () => response.destroy());
    } else if (path === '/peers') {
      sendJson(response, 200, { peers: this.#router.peers() });
    } else if (path === '/events' && request.method === 'GET') {
      this.#follow(response);
    } else {
      sendJson(response, 404, { error: 'there are /routes, /peers and /events' });
    }
  }

  #follow(response: ServerResponse): void {
    this.#server.endless(response);
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
    });
    response.on('close', () => this.#readers.delete(response));
    response.on('error', () => this.#readers.delete(response));
    const begin = ({ routes, peers }: Tables) => {
      if (response.destroyed) return;
      const snapshot = eventText('snapshot', `{"routes":${routes},"peers":${peers}}`);
      response.write(`retry: 1000\n${snapshot}`);
      this.#readers.add(response);
    };
    this.#desk.ask(begin, () => response.destroy());
  }

  #tell(event: RouterEvent): void {
    if (this.#readers.size === 0) return;
    const { kind, ...facts } = event;
    this.#write(eventFrame(kind, facts));
  }

  #write(text: string): void {
    for (const reader of this.#readers) {
      reader.write(text);
      if (reader.writableLength > MAX_UNREAD_OCTETS) reader.destroy();
    }
  }
}
