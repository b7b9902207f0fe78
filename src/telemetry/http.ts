/**
 * What machines ask a running agent or controller: GET /metrics (Prometheus text), /livez (is it alive: restart it if not) and /readyz
 * (can it do its work). Read-only, asks nobody who they are, and says nothing secret: bind it where that is right. A port that is taken, or
 * a reader that goes away, never ends the process. Readers do not decide how much work that is: the text of the metrics, and the look at the
 * work, are made at most once a second, and `/livez` does none.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorCode } from '../error-code.ts';
import { AtMostEach } from '../web/at-most-each.ts';
import { type OneRequestLimits, OneRequestServer } from '../web/one-request-server.ts';
import type { ListenAddress } from './listen-address.ts';

export interface Health {
  readonly ok: boolean;
  /** a line per thing that was looked at, for people */
  readonly lines: readonly string[];
}

export interface Scrape {
  readonly contentType: string;
  readonly text: string;
}

export interface TelemetrySources {
  readonly metrics: () => Promise<Scrape>;
  readonly live: () => Health;
  readonly ready: () => Health;
}

/** a text of the metrics, or a look at the work, is at most so old */
const FRESH_MS = 1000;
const PLAIN = 'text/plain; charset=utf-8';

export class TelemetryServer {
  readonly #sources: TelemetrySources;
  readonly #server: OneRequestServer;
  readonly #metrics: AtMostEach<Scrape>;
  readonly #ready: AtMostEach<Health>;

  constructor(sources: TelemetrySources, limits: Partial<OneRequestLimits> = {}) {
    this.#sources = sources;
    this.#metrics = new AtMostEach(sources.metrics, FRESH_MS);
    this.#ready = new AtMostEach(sources.ready, FRESH_MS);
    this.#server = new OneRequestServer(
      (request, response) => this.#answer(request, response),
      limits,
    );
  }

  /** how many are open */
  get connections(): number {
    return this.#server.connections;
  }

  /** Resolves to the port it listens on, or to the sentence that says why it cannot. */
  async start({ host, port }: ListenAddress): Promise<number | string> {
    try {
      return await this.#server.listen({ port, ...(host !== undefined && { host }) });
    } catch (error) {
      const code = errorCode(error) ?? '';
      const where = `${host === undefined ? '' : host.includes(':') ? `[${host}]` : host}:${port}`;
      return `metrics and probes cannot be served on ${where}: ${PROBLEMS[code] ?? String(error)}`;
    }
  }

  async stop(): Promise<void> {
    await this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      send(response, 405, PLAIN, 'this is read-only: GET\n');
    } else if (path === '/metrics') {
      const { contentType, text } = await this.#metrics.get();
      send(response, 200, contentType, text);
    } else if (path === '/livez') sendHealth(response, this.#sources.live());
    else if (path === '/readyz') sendHealth(response, await this.#ready.get());
    else send(response, 404, PLAIN, 'there are /metrics, /livez and /readyz\n');
  }
}

function sendHealth(response: ServerResponse, { ok, lines }: Health): void {
  send(response, ok ? 200 : 503, PLAIN, `${[ok ? 'ok' : 'not ready', ...lines].join('\n')}\n`);
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': bytes.length,
    'cache-control': 'no-store',
  });
  response.end(bytes);
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'address and port are in use by another program; give another --metrics-address',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'not permitted; a port below 1024 needs CAP_NET_BIND_SERVICE',
};
