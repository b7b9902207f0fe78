/**
 * Serves the demo's page: one document, its scene as server-sent events, and its buttons. No framework, nothing from elsewhere.
 *
 *   GET  /          the page; CSS and script are inside, by hash in its Content-Security-Policy
 *   GET  /events    the scene now, and after each change, at most ten times a second
 *   POST /act       {"verb","node"} -> {"sentence"}; `{"verb":"skip"}` skips the rest of the story
 *
 * Other sites cannot press the buttons: a POST needs the token that only the page itself knows, and the Host header must be ours, which
 * keeps a name that was pointed at this address (DNS rebinding) from being the same origin.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Demo } from '../demo/demo.ts';
import { parseVerb } from '../demo/verbs.ts';
import { eventFrame, sendJson } from './http-reply.ts';
import { pageParts } from './page-parts.ts';

export type DemoFacts = Pick<Demo, 'scene' | 'subscribe' | 'act' | 'skip'>;

const EVERY_MS = 100;
const MAX_BODY = 1000;
const MAX_READERS = 20;
const MAX_UNREAD = 1024 * 1024;
const MAX_CONNECTIONS = 64;
const LIMITS = { requestTimeout: 5000, headersTimeout: 5000, connectionsCheckingInterval: 1000 };
const TOKEN_PLACE = '{{token}}';

export class DemoServer {
  readonly #demo: DemoFacts;
  readonly #server: Server;
  readonly #token = randomBytes(16).toString('hex');
  readonly #readers = new Set<ServerResponse>();
  readonly #page: string;
  readonly #policy: string;
  #hosts: ReadonlySet<string> = new Set();
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStale = false;

  constructor(demo: DemoFacts) {
    this.#demo = demo;
    const { html, css, script } = pageParts();
    this.#page = html.replace(TOKEN_PLACE, () => this.#token);
    this.#policy = [
      "default-src 'none'",
      `style-src '${hashOf(css)}'`,
      `script-src '${hashOf(script)}'`,
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; ');
    this.#server = createServer(LIMITS, (request, response) => this.#answer(request, response));
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** Resolves with its address; rejects with the system's error. */
  async start({ host, port }: { readonly host: string; readonly port: number }): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, resolve);
    });
    const bound = this.#server.address();
    const actual = typeof bound === 'object' && bound !== null ? bound.port : port;
    const shown = host.includes(':') ? `[${host}]` : host;
    this.#hosts = new Set([`${shown}:${actual}`, `localhost:${actual}`]);
    this.#unsubscribe = this.#demo.subscribe(() => {
      this.#isStale = true;
    });
    this.#timer = setInterval(() => this.#tell(), EVERY_MS);
    return `http://${shown}:${actual}/`;
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    clearInterval(this.#timer);
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const reader of this.#readers) reader.end(eventFrame('bye', {}));
    this.#server.closeIdleConnections();
    const timer = setTimeout(() => this.#server.closeAllConnections(), EVERY_MS);
    await closed;
    clearTimeout(timer);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '/', headers } = request;
    if (!this.#isOurs(headers.host)) {
      sendJson(response, 421, { sentence: 'this page is served under its own address only' });
      return;
    }
    const route = `${method} ${url.split('?', 1)[0]}`;
    if (route === 'GET /') this.#sendPage(response);
    else if (route === 'GET /events') this.#follow(response);
    else if (route === 'POST /act') void this.#act(request, response);
    else sendJson(response, 404, { sentence: 'there are GET /, GET /events and POST /act' });
  }

  /** Bound to all addresses there is no one name; then the token alone has to do. */
  #isOurs(host: string | undefined): boolean {
    const isAny = [...this.#hosts].some((each) => /^(0\.0\.0\.0|\[::\]):/.test(each));
    return isAny || (host !== undefined && this.#hosts.has(host));
  }

  #sendPage(response: ServerResponse): void {
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': this.#policy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
    });
    response.end(this.#page);
  }

  #follow(response: ServerResponse): void {
    if (this.#readers.size >= MAX_READERS) {
      sendJson(response, 503, { sentence: 'too many pages are open already; close one' });
      return;
    }
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
    });
    response.write(`retry: 1000\n${eventFrame('scene', this.#demo.scene())}`);
    this.#readers.add(response);
    response.on('close', () => this.#readers.delete(response));
    response.on('error', () => this.#readers.delete(response));
  }

  #tell(): void {
    if (!this.#isStale || this.#readers.size === 0) return;
    this.#isStale = false;
    const text = eventFrame('scene', this.#demo.scene());
    for (const reader of this.#readers) {
      reader.write(text);
      if (reader.writableLength > MAX_UNREAD) reader.destroy();
    }
  }

  async #act(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const given = request.headers['x-herald-token'];
    if (typeof given !== 'string' || !isSame(given, this.#token)) {
      sendJson(response, 403, { sentence: 'only the page itself may do that; reload it' });
      return;
    }
    const body = await readBody(request);
    const { verb: verbText, node } = body ?? {};
    const verb = parseVerb(verbText);
    if (verbText === 'skip') {
      sendJson(response, 200, { sentence: await this.#demo.skip() });
    } else if (verb !== undefined && typeof node === 'number') {
      sendJson(response, 200, { sentence: await this.#demo.act(verb, node) });
    } else {
      sendJson(response, 400, { sentence: 'write {"verb":"drain|freeze|kill|api","node":1}' });
    }
  }
}

interface ActBody {
  readonly verb?: unknown;
  readonly node?: unknown;
}

/** undefined for what is too long or no JSON object */
async function readBody(request: IncomingMessage): Promise<ActBody | undefined> {
  let text = '';
  try {
    for await (const chunk of request.setEncoding('utf8')) {
      text += String(chunk);
      if (text.length > MAX_BODY) return undefined;
    }
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined; // the answer says what was wanted
  }
}

function isSame(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
