/**
 * What machines ask a running agent or controller: GET /metrics (Prometheus text), /livez (is it alive: restart it if not) and /readyz
 * (can it do its work). Read-only, asks nobody who they are, and says nothing secret: bind it where that is right. A port that is taken, or
 * a reader that goes away, never ends the process.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { errorCode } from '../error-code.ts';
import type { ListenAddress } from './listen-address.ts';

export interface Health {
  readonly ok: boolean;
  /** a line per thing that was looked at, for people */
  readonly lines: readonly string[];
}

export interface TelemetrySources {
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly live: () => Health;
  readonly ready: () => Health;
}

/** slower than any probe of a kubelet gives up */
const REQUEST_TIMEOUT_MS = 10_000;
const PLAIN = 'text/plain; charset=utf-8';

export class TelemetryServer {
  readonly #sources: TelemetrySources;
  readonly #server: Server;

  constructor(sources: TelemetrySources) {
    this.#sources = sources;
    this.#server = createServer(
      { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
      (request, response) => void this.#answer(request, response),
    );
  }

  /** Resolves to the port it listens on, or to the sentence that says why it cannot. */
  async start({ host, port }: ListenAddress): Promise<number | string> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject);
        this.#server.listen({ port, ...(host !== undefined && { host }) }, resolve);
      });
    } catch (error) {
      const code = errorCode(error) ?? '';
      const where = `${host === undefined ? '' : host.includes(':') ? `[${host}]` : host}:${port}`;
      return `metrics and probes cannot be served on ${where}: ${PROBLEMS[code] ?? String(error)}`;
    }
    // a connection that breaks later is the other side's trouble
    this.#server.on('error', () => undefined);
    const bound = this.#server.address();
    return typeof bound === 'object' && bound !== null ? bound.port : port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      send(response, 405, PLAIN, 'this is read-only: GET\n');
    } else if (path === '/metrics') {
      const { contentType, text } = await this.#sources.metrics();
      send(response, 200, contentType, text);
    } else if (path === '/livez') sendHealth(response, this.#sources.live());
    else if (path === '/readyz') sendHealth(response, this.#sources.ready());
    else send(response, 404, PLAIN, 'there are /metrics, /livez and /readyz\n');
  }
}

function sendHealth(response: ServerResponse, { ok, lines }: Health): void {
  send(response, ok ? 200 : 503, PLAIN, `${[ok ? 'ok' : 'not ready', ...lines].join('\n')}\n`);
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' });
  response.end(body);
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address and port are in use by another program; give another --metrics-address',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'not permitted; a port below 1024 needs CAP_NET_BIND_SERVICE',
};
