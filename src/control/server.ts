/**
 * The agent's side of the control socket: HTTP on a unix socket that only root and the agent's own user can open (socket-file.ts).
 *
 *   GET  /status     AgentStatus
 *   GET  /watch      AgentStatus, one line of JSON now and after each change
 *   GET  /identity   {pid, version, node}, for another agent that wants the same socket
 *   POST /drain      {address?, reason?} -> DrainAnswer
 *   POST /undrain    the same
 *
 * `curl --unix-socket /run/herald/agent.sock http://agent/status` is a fine client. It decides nothing: what it is asked to do goes to
 * the agent, and whoever may connect may ask. Bounded in connections, sizes and time.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Address, parseAddress } from 'bgp-ts';
import type { AgentStatus, DrainAnswer } from '../agent/status.ts';
import { takeSocket } from './socket-file.ts';
import { StatusDesk } from './status-desk.ts';
import { Watchers } from './watchers.ts';

export interface ControlServerOptions {
  readonly path: string;
  readonly status: () => AgentStatus;
  /** `onChange` is called when something in the status may have changed; the answer ends that */
  readonly subscribe: (onChange: () => void) => () => void;
  /** no address: the node as a whole */
  readonly drain: (address: Address | undefined, reason: string) => DrainAnswer;
  readonly undrain: (address: Address | undefined, reason: string) => DrainAnswer;
  /** how long a watcher may read nothing of what it was sent; 10 s unless told */
  readonly watchPatienceMs?: number;
}

export type ControlStart =
  | { readonly kind: 'listening' }
  /** what is wrong and what to do */
  | { readonly kind: 'refused'; readonly sentence: string };

const MAX_CONNECTIONS = 32;
const MAX_BODY = 4096;
const MAX_REASON = 200;
const REQUEST_TIMEOUT_MS = 5000;
const READ_TIMEOUT_MS = 10_000;
const DEFAULT_REASON = 'asked for by a person';

export class ControlServer {
  readonly #options: ControlServerOptions;
  readonly #server: Server;
  readonly #watchers: Watchers;
  readonly #desk: StatusDesk<Buffer>;
  #release: () => Promise<void> = async () => {};

  constructor(options: ControlServerOptions) {
    this.#options = options;
    const { status, subscribe, watchPatienceMs: patienceMs } = options;
    this.#watchers = new Watchers({
      status,
      subscribe,
      ...(patienceMs === undefined ? {} : { patienceMs }),
    });
    this.#desk = new StatusDesk(() => bytesOf(status()));
    this.#server = createServer({
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1000,
      keepAliveTimeout: 1000,
      maxHeaderSize: MAX_BODY,
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    // Node answers all pipelined requests of a chunk within one turn
    this.#server.maxRequestsPerSocket = 1;
    this.#server.on('request', (request, response) => this.#answer(request, response));
  }

  async start(): Promise<ControlStart> {
    const taken = await takeSocket(this.#server, this.#options.path);
    if (taken.kind === 'listening') {
      this.#release = taken.release;
      return { kind: 'listening' };
    }
    if (this.#server.listening) this.#server.close();
    return taken;
  }

  /** The name goes first, so that nobody comes after; watchers get a clean end. */
  async stop(): Promise<void> {
    await this.#release();
    this.#watchers.stop();
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    // whoever has not read the end by now does not want it
    setImmediate(() => this.#server.closeAllConnections());
    await closed;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => response.destroy());
    // what a client writes there need not be one ('//')
    const { url = '/' } = request;
    const pathname = URL.parse(url, 'http://agent')?.pathname ?? url;
    const route = ROUTES[pathname];
    if (route === undefined) {
      sendJson(response, 404, no(`no such thing here: ${pathname}`));
    } else if (request.method !== route.method) {
      response.setHeader('allow', route.method);
      sendJson(response, 405, no(`${pathname} is asked by ${route.method}`));
    } else {
      this.#serve(route.what, request, response);
    }
  }

  #serve(what: Route['what'], request: IncomingMessage, response: ServerResponse): void {
    switch (what) {
      case 'status':
        // whoever does not read shall not keep a place for ever
        response.setTimeout(READ_TIMEOUT_MS, () => response.destroy());
        this.#desk.ask((bytes) => sendBytes(response, 200, bytes));
        break;
      case 'identity': {
        const { pid, version, node } = this.#options.status();
        sendJson(response, 200, { pid, version, node: node.name });
        break;
      }
      case 'watch':
        response.setTimeout(0);
        response.writeHead(200, { 'content-type': 'application/x-ndjson' });
        this.#watchers.add(response);
        break;
      case 'drain':
      case 'undrain':
        this.#order(request, response, this.#options[what]);
        break;
    }
  }

  #order(
    request: IncomingMessage,
    response: ServerResponse,
    act: ControlServerOptions['drain'],
  ): void {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      body += chunk;
      if (body.length <= MAX_BODY) return;
      request.removeAllListeners('data').removeAllListeners('end');
      response.setHeader('connection', 'close');
      sendJson(response, 413, no(`more than ${MAX_BODY} octets were sent`));
      request.resume();
    });
    request.on('end', () => {
      const order = readOrder(body);
      if (typeof order === 'string') return sendJson(response, 400, no(order));
      const answer = act(order.address, order.reason);
      sendJson(response, answer.ok ? 200 : 409, answer);
    });
  }
}

type Route = {
  readonly method: 'GET' | 'POST';
  readonly what: 'status' | 'identity' | 'watch' | 'drain' | 'undrain';
};

const ROUTES: Readonly<Record<string, Route>> = {
  '/status': { method: 'GET', what: 'status' },
  '/identity': { method: 'GET', what: 'identity' },
  '/watch': { method: 'GET', what: 'watch' },
  '/drain': { method: 'POST', what: 'drain' },
  '/undrain': { method: 'POST', what: 'undrain' },
};

function no(sentence: string): DrainAnswer {
  return { ok: false, sentence };
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  sendBytes(response, status, bytesOf(value));
}

function bytesOf(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

function sendBytes(response: ServerResponse, status: number, bytes: Buffer): void {
  const length = bytes.length;
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length });
  response.end(bytes);
}

interface Order {
  readonly address: Address | undefined;
  readonly reason: string;
}

/** or the sentence about what is wrong with it */
function readOrder(body: string): Order | string {
  const parsed = parseObject(body);
  if (parsed === undefined) return 'the body is not a JSON object like {"address": "192.0.2.7"}';
  const { address, reason = DEFAULT_REASON, ...others } = parsed;
  const [other] = Object.keys(others);
  if (other !== undefined) return `'${other}' is not known here; address and reason are`;
  if (typeof reason !== 'string' || reason.length > MAX_REASON) {
    return `the reason is not a text of at most ${MAX_REASON} characters`;
  }
  if (address === undefined) return { address, reason };
  const known = typeof address === 'string' ? parseAddress(address) : undefined;
  if (known === undefined) return `${JSON.stringify(address)} is not an address`;
  return { address: known, reason };
}

/** an empty body is an empty object */
function parseObject(body: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = body.trim() === '' ? {} : JSON.parse(body);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
    return Object.fromEntries(Object.entries(parsed));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
