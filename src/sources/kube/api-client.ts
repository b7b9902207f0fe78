/**
 * The real KubeApi: JSON over node:https, on sockets that are kept. Asks the server that works; one that cannot be reached is left for
 * the next at once, within the same call where nothing can have arrived. Every call has a deadline. Says nothing of tokens, to nobody.
 *
 * It does not retry what may have been done: that is for the loop that knows what it wants.
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../../log/log.ts';
import {
  AnswerTooLong,
  ApiUnreachable,
  type CallOptions,
  type DeleteOptions,
  type KubeApi,
  type KubeList,
  type KubeObject,
  type ListOptions,
  type Patch,
  type Resource,
  type WatchEnd,
  type WatchOptions,
  type WriteOptions,
} from './api.ts';
import { statusError } from './api-status.ts';
import { Connections } from './connections.ts';
import { type CallOutcome, callHttp } from './http-call.ts';
import type { HttpFailure, HttpRequest } from './http-request.ts';
import type { Credentials, KubeAccess } from './kube-access.ts';
import { isKubeObject, kubeList } from './kube-object.ts';
import {
  deleteBody,
  listPath,
  objectPath,
  PATCH_TYPES,
  resourcePath,
  watchPath,
  writePath,
} from './request-path.ts';
import { ServerRing } from './server-ring.ts';
import { jsonOr, streamWatch } from './watch-stream.ts';

export interface KubeApiOptions {
  readonly clock: Clock;
  /** with several servers: which one is asked first, so that not all agents hang on the same; absent: the first */
  readonly random?: Random;
  readonly log: Log;
  /** for User-Agent */
  readonly version?: string;
  readonly connectMs?: number;
  /** a watch on which no byte has come for so long is over */
  readonly silentAfterMs?: number;
  /** how many calls may be under way at once; the others wait for their turn */
  readonly maxCalls?: number;
  /** of one answer */
  readonly maxOctets?: number;
}

export interface ClosableKubeApi extends KubeApi {
  /** ends what is under way; for a program that wants to leave */
  close(): void;
}

const CONNECT_MS = 3000;
const CALL_MS = 10_000;
const LIST_MS = 60_000;
const SILENT_AFTER_MS = 90_000;
/** a list of 100,000 claims is 120 MB; a text of more than 512 MB cannot be had */
const MAX_OCTETS = 256 * 1024 * 1024;

/**
 * Of a process that may take so much memory: an answer takes three to four times its length while it is read, and a process that is ended for
 * it loses its sessions, where one that goes without the answer keeps what it has. 0: no bound is known.
 */
export function longestAnswer(memoryOctets: number): number {
  return memoryOctets === 0 ? MAX_OCTETS : Math.min(MAX_OCTETS, Math.floor(memoryOctets / 5));
}

export function createKubeApi(access: KubeAccess, options: KubeApiOptions): ClosableKubeApi {
  return new HttpKubeApi(access, options);
}

type Call = {
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly body?: object | undefined;
  readonly type?: string;
  readonly mostBytes?: number | undefined;
};

class HttpKubeApi implements ClosableKubeApi {
  readonly #access: KubeAccess;
  readonly #options: KubeApiOptions;
  readonly #connections: Connections;
  readonly #ring: ServerRing;
  readonly #userAgent: string;

  constructor(access: KubeAccess, options: KubeApiOptions) {
    this.#access = access;
    this.#options = options;
    this.#connections = new Connections(access.servers, options.maxCalls);
    const { length } = access.servers;
    this.#ring = new ServerRing(length, Math.floor((options.random?.next() ?? 0) * length));
    this.#userAgent = options.version === undefined ? 'herald' : `herald/${options.version}`;
  }

  get(resource: Resource, name: string, options: CallOptions = {}): Promise<KubeObject> {
    return this.#object({ method: 'GET', path: objectPath(resource, name) }, options);
  }

  async list(resource: Resource, options: ListOptions = {}): Promise<KubeList> {
    const { mostBytes } = options;
    const call: Call = { method: 'GET', path: listPath(resource, options), mostBytes };
    const list = kubeList(await this.#call(call, options, LIST_MS));
    if (list === undefined) throw unreadable(call);
    return list;
  }

  create(resource: Resource, body: object, options: CallOptions = {}): Promise<KubeObject> {
    return this.#object({ method: 'POST', path: resourcePath(resource), body }, options);
  }

  update(
    resource: Resource,
    name: string,
    body: object,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    return this.#object({ method: 'PUT', path: writePath(resource, name, options), body }, options);
  }

  patch(
    resource: Resource,
    name: string,
    { kind, body }: Patch,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    const path = writePath(resource, name, options);
    return this.#object({ method: 'PATCH', path, body, type: PATCH_TYPES[kind] }, options);
  }

  async delete(resource: Resource, name: string, options: DeleteOptions = {}): Promise<void> {
    const path = objectPath(resource, name);
    await this.#call({ method: 'DELETE', path, body: deleteBody(options) }, options);
  }

  async watch(resource: Resource, options: WatchOptions): Promise<WatchEnd> {
    const server = this.#ring.current;
    try {
      const credentials = await this.#credentials();
      if (options.signal.aborted) return { kind: 'closed' };
      return await this.#stream(server, credentials, { resource, options });
    } catch (error) {
      if (!(error instanceof ApiUnreachable)) throw error;
      return { kind: 'failed', error };
    }
  }

  close(): void {
    this.#connections.close();
  }

  async #stream(
    server: number,
    credentials: Credentials,
    { resource, options }: { readonly resource: Resource; readonly options: WatchOptions },
  ): Promise<WatchEnd> {
    const { watches } = this.#connections.to(server, credentials);
    const request = this.#request(
      { method: 'GET', path: watchPath(resource, options) },
      credentials,
    );
    const {
      clock,
      connectMs = CONNECT_MS,
      silentAfterMs: usualMs = SILENT_AFTER_MS,
    } = this.#options;
    const silentAfterMs = Math.min(usualMs, options.silentAfterMs ?? usualMs);
    const bounds = { clock, connectMs, answerMs: CALL_MS, silentAfterMs, signal: options.signal };
    const ended = await streamWatch(watches, request, bounds, options);
    if (ended.kind === 'failure') {
      this.#left(server, ended);
      return { kind: 'failed', error: ended.error };
    }
    if (ended.status === 401) this.#access.renew();
    if (ended.end.kind === 'silent') this.#leave(server, 'a watch was silent');
    else this.#answered(server, ended.status);
    return ended.end;
  }

  async #object(call: Call, options: CallOptions): Promise<KubeObject> {
    const value = await this.#call(call, options);
    if (!isKubeObject(value)) throw unreadable(call);
    return value;
  }

  /** the parsed answer of 2xx; throws an ApiError for any other */
  async #call(call: Call, options: CallOptions, defaultMs = CALL_MS): Promise<unknown> {
    const untilMs = this.#options.clock.now() + (options.timeoutMs ?? defaultMs);
    let outcome = await this.#anyServer(call, options, untilMs);
    if (outcome.kind === 'answer' && outcome.status === 401) {
      // the token has been rotated under us
      this.#access.renew();
      outcome = await this.#anyServer(call, options, untilMs);
    }
    if (outcome.kind === 'failure') throw outcome.error;
    if (outcome.kind === 'too-long') throw this.#tooLong(call);
    const { status, text, retryAfter } = outcome;
    if (status >= 200 && status < 300) return jsonOr(text);
    throw statusError(status, jsonOr(text), retryAfter);
  }

  #tooLong({ method, path, mostBytes }: Call): Error {
    const { maxOctets = MAX_OCTETS } = this.#options;
    if (mostBytes !== undefined && mostBytes < maxOctets) return new AnswerTooLong(path, mostBytes);
    const cause = new Error(`${method} ${path}`);
    return new ApiUnreachable(`the answer is longer than ${maxOctets} octets`, cause);
  }

  /** each server at most once, and the next one only where nothing can have arrived at the one before */
  async #anyServer(call: Call, options: CallOptions, untilMs: number): Promise<CallOutcome> {
    for (let tries = 1; ; tries += 1) {
      const server = this.#ring.current;
      const outcome = await this.#oneServer(server, call, { options, untilMs });
      if (outcome.kind !== 'failure') {
        this.#answered(server, outcome.status);
        return outcome;
      }
      if (options.signal?.aborted === true) return outcome;
      if (!outcome.wasStale) this.#left(server, outcome);
      const isHarmless = !outcome.wasSent || (outcome.wasStale && call.method === 'GET');
      const isLeft = this.#options.clock.now() < untilMs && tries <= this.#access.servers.length;
      const isWorth = outcome.wasStale || this.#ring.current !== server;
      if (!isHarmless || !isLeft || !isWorth) return outcome;
    }
  }

  async #oneServer(
    server: number,
    call: Call,
    { options, untilMs }: { readonly options: CallOptions; readonly untilMs: number },
  ): Promise<CallOutcome> {
    const credentials = await this.#credentials();
    const { calls } = this.#connections.to(server, credentials);
    const { clock, connectMs = CONNECT_MS, maxOctets = MAX_OCTETS } = this.#options;
    const timeoutMs = Math.max(untilMs - clock.now(), 1);
    const mostBytes = Math.min(call.mostBytes ?? maxOctets, maxOctets);
    const bounds = { clock, connectMs, timeoutMs, mostBytes, signal: options.signal };
    return await callHttp(calls, this.#request(call, credentials), bounds);
  }

  #request({ method, path, body, type }: Call, { headers }: Credentials): HttpRequest {
    const common = { ...headers, Accept: 'application/json', 'User-Agent': this.#userAgent };
    if (body === undefined) return { method, path, headers: common };
    const bytes = Buffer.from(JSON.stringify(body));
    const typed = { 'Content-Type': type ?? 'application/json', 'Content-Length': bytes.length };
    return { method, path, body: bytes, headers: { ...common, ...typed } };
  }

  async #credentials(): Promise<Credentials> {
    try {
      return await this.#access.credentials();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      throw new ApiUnreachable('the credentials for the API cannot be had', error);
    }
  }

  #answered(server: number, status: number): void {
    if (this.#ring.answered(server, status)) this.#sayLeft(server, `it answers ${status}`);
  }

  #left(server: number, { error, isDeaf }: HttpFailure): void {
    if (isDeaf) this.#connections.drop(server);
    this.#leave(server, error.message);
  }

  #leave(server: number, reason: string): void {
    if (this.#ring.unreachable(server)) this.#sayLeft(server, reason);
  }

  #sayLeft(server: number, reason: string): void {
    const { servers } = this.#access;
    const fields = { from: servers[server]?.host, to: servers[this.#ring.current]?.host, reason };
    this.#options.log.warn('kube.server', fields, 'asking another API server');
  }
}

/** nobody has set a bound, and no text can be so long: it is as if there were no answer */
function unreadable({ method, path }: Call): ApiUnreachable {
  const cause = new Error(`${method} ${path}`);
  return new ApiUnreachable('the answer is not what an API server gives; is this its URL?', cause);
}
