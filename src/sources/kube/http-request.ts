/**
 * One HTTP request over node:http(s), up to the head of its answer. What calls and watches share: a bound on connecting, a socket whose
 * death is noticed without traffic, and an error that says whether anything can have reached the server.
 */

import http, { type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Clock, Timer } from 'bgp-ts';
import { errorCode } from '../../error-code.ts';
import { boundChunks, boundInterim } from './answer-bounds.ts';
import { ApiUnreachable } from './api.ts';

export interface HttpTarget {
  readonly url: URL;
  readonly agent: Agent;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body?: Buffer;
}

export interface RequestBounds {
  readonly clock: Clock;
  /** until there is a connection, TLS included */
  readonly connectMs: number;
  readonly signal: AbortSignal | undefined;
}

export interface RequestHandlers {
  readonly onAnswer: (answer: IncomingMessage) => void;
  /** once, also after `onAnswer` when the connection breaks */
  readonly onFailure: (failure: HttpFailure) => void;
}

export interface HttpFailure {
  readonly error: ApiUnreachable;
  /** false: there never was a connection, so the server has seen nothing of it */
  readonly wasSent: boolean;
  /** an idle connection that the server had closed in the same moment */
  readonly wasStale: boolean;
  /** nobody is there, rather than somebody who hung up */
  readonly isDeaf: boolean;
}

/** 5 s of quiet, then four questions 2 s apart: a dead path is noticed in 13 s, where the kernel's own answer takes hours */
const KEEP_ALIVE = { idleMs: 5000, everyMs: 2000, count: 4 };
const DEAF = ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN'];

export function openRequest(
  { url, agent }: HttpTarget,
  { method, path, headers, body }: HttpRequest,
  bounds: RequestBounds,
  handlers: RequestHandlers,
): ClientRequest {
  const isTls = url.protocol === 'https:';
  const request = (isTls ? https : http).request({
    method,
    hostname: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    port: url.port === '' ? undefined : url.port,
    path: url.pathname === '/' ? path : url.pathname.replace(/\/$/, '') + path,
    headers,
    agent,
  });
  const connecting = new Connecting(request, bounds, isTls);
  const abort = () => request.destroy(new Error('given up'));
  let isOver = false;
  request.on('socket', (socket) => connecting.watch(socket));
  boundInterim(request);
  request.on('response', (answer) => {
    handlers.onAnswer(answer);
    boundChunks(request, answer);
  });
  request.on('error', (error) => {
    connecting.stop();
    if (isOver) return;
    isOver = true;
    handlers.onFailure(failureOf(error, url, connecting));
  });
  request.on('close', () => {
    connecting.stop();
    bounds.signal?.removeEventListener('abort', abort);
  });
  bounds.signal?.addEventListener('abort', abort);
  if (bounds.signal?.aborted === true) abort();
  request.end(body);
  return request;
}

/** The time until there is a connection. */
class Connecting {
  readonly #request: ClientRequest;
  readonly #bounds: RequestBounds;
  readonly #isTls: boolean;
  #timer: Timer | undefined;
  hasConnected = false;
  isLate = false;

  constructor(request: ClientRequest, bounds: RequestBounds, isTls: boolean) {
    this.#request = request;
    this.#bounds = bounds;
    this.#isTls = isTls;
  }

  get isReused(): boolean {
    return this.#request.reusedSocket;
  }

  watch(socket: Socket): void {
    if (!socket.connecting) {
      this.hasConnected = true;
      return;
    }
    const { idleMs, everyMs, count } = KEEP_ALIVE;
    socket.setKeepAlive(true, idleMs, everyMs, count);
    const { clock, connectMs } = this.#bounds;
    this.#timer = clock.startTimer(connectMs, () => {
      this.isLate = true;
      this.#request.destroy(new Error(`no connection within ${connectMs} ms`));
    });
    socket.once(this.#isTls ? 'secureConnect' : 'connect', () => {
      this.hasConnected = true;
      this.stop();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}

function failureOf(error: Error, url: URL, connecting: Connecting): HttpFailure {
  const { hasConnected, isReused, isLate } = connecting;
  const code = errorCode(error);
  const why = code === undefined ? error.message : `${error.message} (${code})`;
  return {
    error: new ApiUnreachable(`${url.host} does not answer: ${why}`, error),
    wasSent: hasConnected,
    wasStale: isReused && code === 'ECONNRESET',
    isDeaf: isLate || DEAF.includes(code ?? ''),
  };
}
