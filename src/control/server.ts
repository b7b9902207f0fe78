/**
 * The agent's side of the control socket: HTTP on a unix socket that only root and the agent's own user can open (socket-file.ts).
 *
 *   GET  /status     AgentStatus
 *   GET  /watch      AgentStatus, one line of JSON now and after each change
 *   GET  /identity   {pid, version, node}, for another agent that asks for the same socket
 *   POST /drain      {address?, reason?} -> DrainAnswer
 *   POST /undrain    the same
 *
 * `curl --unix-socket /run/herald/agent.sock http://agent/status` is a fine client. It decides nothing: what it is asked to do goes to
 * the agent, and whoever may connect may ask. Bounded in connections, sizes and time; what is long is written in pieces, and a mistake in
 * an answer ends that answer, never the process. `?gates=once` behind the first two: status-text.ts.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Address, parseAddress } from 'bgp-ts';
import type { AgentStatus, DrainAnswer, StatusDocument } from '../agent/status.ts';
import { PieceWriter } from './piece-writer.ts';
import { takeSocket } from './socket-file.ts';
import { StatusDesk } from './status-desk.ts';
import { type GateForm, gateForm, statusPieces } from './status-text.ts';
import { Watchers } from './watchers.ts';

export interface ControlServerOptions {
  readonly path: string;
  /** never changes, so that it can be told whatever else is wrong */
  readonly identity: Pick<AgentStatus, 'pid' | 'version'> & { readonly node: string };
  readonly status: () => StatusDocument;
  /** `onChange` is called when something in the status may have changed; the answer ends that */
  readonly subscribe: (onChange: () => void) => () => void;
  /** no address: the node as a whole */
  readonly drain: (address: Address | undefined, reason: string) => OrderAnswer;
  readonly undrain: (address: Address | undefined, reason: string) => OrderAnswer;
  /** how long a watcher may read nothing of what it was sent; 10 s unless told */
  readonly watchPatienceMs?: number;
  /** an answer could not be made: a mistake of ours, to be told */
  readonly onFailed?: (error: unknown) => void;
}

/** a promise: the answer waits until what was asked for is kept */
export type OrderAnswer = DrainAnswer | Promise<DrainAnswer>;

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
  readonly #desk: StatusDesk<StatusDocument>;
  readonly #writer = new PieceWriter();
  readonly #onFailed: (error: unknown) => void;
  #release: () => Promise<void> = async () => {};

  constructor(options: ControlServerOptions) {
    this.#options = options;
    const { status, subscribe, watchPatienceMs: patienceMs, onFailed = () => undefined } = options;
    this.#onFailed = onFailed;
    this.#watchers = new Watchers({
      status,
      subscribe,
      writer: this.#writer,
      onFailed,
      ...(patienceMs === undefined ? {} : { patienceMs }),
    });
    this.#desk = new StatusDesk(status);
    this.#server = createServer({
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1000,
      keepAliveTimeout: 1000,
      maxHeaderSize: MAX_BODY,
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    // a client may close its half once it has asked; Node has no word for it in its types
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    // Node answers all pipelined requests of a chunk within one turn
    this.#server.maxRequestsPerSocket = 1;
    this.#server.on('request', (request, response) => {
      this.#guarded(response, () => this.#answer(request, response));
    });
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

  /** An exception is the end of this answer, and of nothing else: sessions live in the same process. */
  #guarded(response: ServerResponse, work: () => void): void {
    try {
      work();
    } catch (error) {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, no('the answer cannot be made; the log of the agent says why'));
      this.#onFailed(error);
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => response.destroy());
    // what a client writes there need not be one ('//')
    const { url = '/' } = request;
    const { pathname, search } = URL.parse(url, 'http://agent') ?? { pathname: url, search: '' };
    const route = ROUTES[pathname];
    if (route === undefined) {
      sendJson(response, 404, no(`no such thing here: ${pathname}`));
    } else if (request.method !== route.method) {
      response.setHeader('allow', route.method);
      sendJson(response, 405, no(`${pathname} is asked by ${route.method}`));
    } else {
      this.#serve({ what: route.what, form: gateForm(search) }, request, response);
    }
  }

  #serve({ what, form }: Asked, request: IncomingMessage, response: ServerResponse): void {
    switch (what) {
      case 'status':
        // whoever does not read shall not keep a place for ever
        response.setTimeout(READ_TIMEOUT_MS, () => response.destroy());
        this.#desk.ask(
          (document) => this.#guarded(response, () => this.#sendStatus(response, document, form)),
          (error) =>
            this.#guarded(response, () => {
              throw error;
            }),
        );
        break;
      case 'identity':
        sendJson(response, 200, this.#options.identity);
        break;
      case 'watch':
        response.setTimeout(0);
        // it has no end, so a reader that closes its half is taken for one that is gone
        request.socket.once('end', () => response.end());
        response.setHeader('content-type', 'application/x-ndjson');
        this.#watchers.add(response, form);
        break;
      case 'drain':
      case 'undrain':
        this.#order(request, response, this.#options[what]);
        break;
    }
  }

  #sendStatus(response: ServerResponse, document: StatusDocument, form: GateForm): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    this.#writer.write({
      response,
      pieces: statusPieces(document, form),
      onWritten: () => response.end(),
      onFailed: this.#onFailed,
    });
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
      this.#guarded(response, () => {
        const order = readOrder(body);
        if (typeof order === 'string') return sendJson(response, 400, no(order));
        const answered = Promise.resolve(act(order.address, order.reason));
        const send = (answer: DrainAnswer) => sendJson(response, answer.ok ? 200 : 409, answer);
        answered.then(send).catch((error: unknown) =>
          this.#guarded(response, () => {
            throw error;
          }),
        );
      });
    });
  }
}

type Route = {
  readonly method: 'GET' | 'POST';
  readonly what: 'status' | 'identity' | 'watch' | 'drain' | 'undrain';
};

interface Asked {
  readonly what: Route['what'];
  readonly form: GateForm;
}

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
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
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
