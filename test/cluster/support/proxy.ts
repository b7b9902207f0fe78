/**
 * A reverse proxy in front of an API server that fails on purpose. It ends TLS on both sides and speaks HTTP/1.1; who a client is goes on to
 * the server (a token as it is, a certificate by the key in the kubeconfig that `kubeconfig` was given). Streams pass unbuffered. Rules
 * are added and taken away while it runs.
 */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import { type ApiRequest, matches, type RequestMatch, readRequest } from './api-request.ts';
import type { Cluster } from './cluster.ts';
import { readKubeconfig } from './kubeconfig.ts';
import { ActiveRule, type Fault, type Rule, statusBody } from './proxy-rules.ts';
import { errorEvent, ProxyStream } from './proxy-stream.ts';
import { freePorts } from './servers.ts';
import { IDLE_MS } from './test-api.ts';

/** What of a cluster a proxy needs; one in a process of its own has no more of it. */
export interface ProxiedCluster extends Pick<Cluster, 'kubeconfig' | 'writeKubeconfig'> {
  readonly pki: Pick<Cluster['pki'], 'ca' | 'server'>;
}

export interface ProxyOptions {
  /** which of the cluster's servers; default the first */
  readonly server?: number;
}

export async function startProxy(
  cluster: Cluster,
  options: ProxyOptions = {},
): Promise<FailingProxy> {
  const [port = 0] = await freePorts(1);
  const proxy = new FailingProxy(
    cluster,
    new URL(cluster.servers[options.server ?? 0]?.url ?? ''),
    port,
  );
  await proxy.accept();
  return proxy;
}

export interface RequestCount {
  readonly request: ApiRequest;
  readonly count: number;
  /** of answers, without headers */
  readonly bytes: number;
}

interface Exchange {
  readonly info: ApiRequest;
  readonly client: IncomingMessage;
  readonly answer: ServerResponse;
  readonly body: Uint8Array;
}

export class FailingProxy {
  readonly url: string;
  readonly #cluster: ProxiedCluster;
  readonly #upstream: URL;
  readonly #port: number;
  readonly #agents = new Map<string, Agent>();
  readonly #streams = new Set<ProxyStream>();
  /** also those whose TLS handshake is under way: it would go on, and keep a server that refuses open */
  readonly #sockets = new Set<Socket>();
  readonly #counts = new Map<string, { request: ApiRequest; count: number; bytes: number }>();
  readonly #rules = new Set<ActiveRule>();
  #server: Server | undefined;

  constructor(cluster: ProxiedCluster, upstream: URL, port: number) {
    this.#cluster = cluster;
    this.#upstream = upstream;
    this.#port = port;
    this.url = `https://127.0.0.1:${port}`;
  }

  /** The same user as in `from`, through this proxy. */
  kubeconfig(from = this.#cluster.kubeconfig): string {
    const { credentials } = readKubeconfig(from);
    if (credentials.kind === 'certificate') {
      const { fingerprint256 } = new X509Certificate(credentials.cert);
      this.#agent(fingerprint256, { cert: credentials.cert, key: credentials.key });
    }
    return this.#cluster.writeKubeconfig('proxy', credentials, this.url);
  }

  /** Rules are asked in the order in which they came; the first that takes a request decides. */
  add(rule: Rule): ActiveRule {
    const active = new ActiveRule(rule);
    this.#rules.add(active);
    const { fault } = rule;
    if (fault.kind === 'half-open' || fault.kind === 'slow' || fault.kind === 'watch-error') {
      for (const stream of this.#streams) if (active.takes(stream.request)) stream.hit(fault);
    }
    return active;
  }

  remove(rule: ActiveRule): void {
    this.#rules.delete(rule);
  }

  /** In the order in which they are asked. */
  get rules(): readonly ActiveRule[] {
    return [...this.#rules];
  }

  /** No rules from here on. What is half-open stays so. */
  clear(): void {
    this.#rules.clear();
  }

  /** Breaks every connection that is open now. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Connections are refused, and those that are open break. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    this.cut();
    await closed;
  }

  /** Connections are taken again. */
  async accept(): Promise<void> {
    if (this.#server !== undefined) return;
    const { pki } = this.#cluster;
    const server = createServer({
      cert: readFileSync(pki.server.certFile),
      key: readFileSync(pki.server.keyFile),
      ca: pki.ca,
      requestCert: true,
      rejectUnauthorized: false,
      // the server's own bounds count, not the proxy's
      keepAliveTimeout: 600_000,
      requestTimeout: 0,
      headersTimeout: 0,
    });
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('secureConnection', (socket) => socket.on('error', () => undefined));
    server.on('request', (client, answer) => {
      this.#handle(client, answer).catch(() => answer.destroy());
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
  }

  /** How many requests have come so far that fit. */
  count(match: RequestMatch = {}): number {
    return this.#sum(match, ({ count }) => count);
  }

  /** How many bytes of answers have gone to these clients; of watches with `verb: 'watch'`. */
  bytes(match: RequestMatch = {}): number {
    return this.#sum(match, ({ bytes }) => bytes);
  }

  /** All that came, by verb, resource, subresource and user agent. */
  get requests(): readonly RequestCount[] {
    return [...this.#counts.values()];
  }

  /** Watches and other answers that are under way. */
  get openStreams(): readonly ApiRequest[] {
    return [...this.#streams].map((stream) => stream.request);
  }

  async stop(): Promise<void> {
    await this.refuse();
    for (const agent of this.#agents.values()) agent.destroy();
  }

  #sum(match: RequestMatch, of: (each: RequestCount) => number): number {
    return this.requests
      .filter(({ request: each }) => matches(match, each))
      .reduce((sum, each) => sum + of(each), 0);
  }

  async #handle(client: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = client;
    const info = readRequest(method, url, headers['user-agent'] ?? '');
    const counter = this.#counter(info);
    counter.count += 1;
    const body = await readAll(client);
    const fault = [...this.#rules].find((rule) => rule.takes(info))?.rule.fault;
    const exchange = { info, client, answer, body };
    if (fault === undefined || !(await before(fault, exchange))) {
      await this.#forward(exchange, fault, (bytes) => {
        counter.bytes += bytes;
      });
    }
  }

  async #forward(
    { info, client, answer, body }: Exchange,
    fault: Fault | undefined,
    onBytes: (count: number) => void,
  ): Promise<void> {
    const source = await this.#ask(client, answer, body);
    if (fault?.kind === 'drop-response') {
      await readAll(source);
      client.socket.destroy();
      return;
    }
    const stream = new ProxyStream(info, answer, source);
    if (fault?.kind === 'slow') stream.hit(fault);
    this.#streams.add(stream);
    try {
      await stream.run(onBytes);
    } finally {
      this.#streams.delete(stream);
    }
  }

  #ask(
    client: IncomingMessage,
    answer: ServerResponse,
    body: Uint8Array,
  ): Promise<IncomingMessage> {
    const options = {
      host: this.#upstream.hostname,
      port: this.#upstream.port,
      method: client.method ?? 'GET',
      path: client.url ?? '/',
      headers: client.headers,
      agent: this.#agentOf(client),
    };
    return new Promise((resolve, reject) => {
      const upstream = request(options, resolve).on('error', reject);
      answer.once('close', () => upstream.destroy());
      upstream.end(body);
    });
  }

  #agentOf({ socket }: IncomingMessage): Agent {
    const fingerprint =
      socket instanceof TLSSocket ? socket.getPeerCertificate().fingerprint256 : undefined;
    if (fingerprint === undefined) return this.#agent('', {});
    const agent = this.#agents.get(fingerprint);
    if (agent === undefined) throw new Error('a certificate whose key the proxy was not given');
    return agent;
  }

  #agent(key: string, keys: { readonly cert?: string; readonly key?: string }): Agent {
    const known = this.#agents.get(key);
    if (known !== undefined) return known;
    const { ca } = this.#cluster.pki;
    const agent = new Agent({ keepAlive: true, timeout: IDLE_MS, ca, ...keys });
    this.#agents.set(key, agent);
    return agent;
  }

  #counter(info: ApiRequest): { count: number; bytes: number } {
    const { verb, resource, subresource = '', userAgent } = info;
    const key = `${verb} ${resource} ${subresource} ${userAgent}`;
    const known = this.#counts.get(key);
    if (known !== undefined) return known;
    const { name: _name, namespace: _namespace, ...kind } = info;
    const counter = { request: kind, count: 0, bytes: 0 };
    this.#counts.set(key, counter);
    return counter;
  }
}

/** What happens before the server sees a request; true when it never will. */
async function before(fault: Fault, { client, answer }: Exchange): Promise<boolean> {
  switch (fault.kind) {
    case 'status': {
      const after = fault.retryAfterSeconds;
      answer.writeHead(fault.code, {
        'content-type': 'application/json',
        ...(after === undefined ? {} : { 'retry-after': String(after) }),
      });
      answer.end(JSON.stringify(statusBody(fault.code, fault.reason)));
      return true;
    }
    case 'watch-error':
      answer.writeHead(200, { 'content-type': 'application/json' });
      answer.end(errorEvent(fault.code, fault.reason));
      return true;
    case 'drop-request':
      client.socket.destroy();
      return true;
    case 'half-open':
      return true;
    case 'stall':
      return await givesUp(answer, fault.ms);
    case 'drop-response':
    case 'slow':
      return false;
  }
}

/** Whether the client has gone before that time is over; then its request must not come to the server in the middle of some later test. */
async function givesUp(answer: ServerResponse, withinMs: number): Promise<boolean> {
  const gone = new AbortController();
  answer.once('close', () => gone.abort());
  const wait = delay(withinMs, false, { signal: gone.signal });
  return await wait.catch(() => true);
}

async function readAll(source: IncomingMessage): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks);
}
