/**
 * The other side of the control socket: what `herald status` and its kin ask. The world's failures are values with a sentence: who looks
 * at an agent must be told plainly when there is none.
 */

import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import type { AgentStatus, DrainAnswer } from '../agent/status.ts';
import { GATES_ONCE, withAllGates } from './status-text.ts';

export type Asked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly sentence: string };

export interface DrainOrder {
  /** none: the node as a whole */
  readonly address?: string;
  readonly reason?: string;
}

const TIMEOUT_MS = 10_000;

export class ControlClient {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async status(): Promise<Asked<AgentStatus>> {
    const answer = await this.#ask({ path: `/status${GATES_ONCE}` });
    return answer.ok ? this.#asStatus(answer.value) : answer;
  }

  /** Whether it is an agent, at the cost of nothing to it. */
  async isAgent(): Promise<boolean> {
    const answer = await this.#ask({ path: '/identity' });
    return answer.ok && typeof parseJson(answer.value)?.pid === 'number';
  }

  drain(order: DrainOrder = {}): Promise<Asked<DrainAnswer>> {
    return this.#order('/drain', order);
  }

  undrain(order: DrainOrder = {}): Promise<Asked<DrainAnswer>> {
    return this.#order('/undrain', order);
  }

  /**
   * Calls `take` now and after each change, until the signal is aborted (then the answer is undefined) or the agent is gone (then it
   * says how). A slow `take` misses what is between, never the last.
   */
  async watch(
    take: (status: AgentStatus) => void,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (signal.aborted) return undefined;
    const opened = await this.#open({ path: `/watch${GATES_ONCE}`, signal });
    if (!opened.ok) return signal.aborted ? undefined : opened.sentence;
    const problem = await this.#eachLine(opened.value, (line) => {
      const status = this.#asStatus(line);
      if (!status.ok) return status.sentence;
      take(status.value);
      return undefined;
    });
    return signal.aborted ? undefined : problem;
  }

  async #eachLine(
    response: IncomingMessage,
    take: (line: string) => string | undefined,
  ): Promise<string> {
    let rest: string[] = [];
    try {
      for await (const chunk of response.setEncoding('utf8')) {
        const lines = String(chunk).split('\n');
        for (const line of lines.slice(0, -1)) {
          const problem = take(rest.join('') + line);
          rest = [];
          if (problem !== undefined) return problem;
        }
        rest.push(lines.at(-1) ?? '');
      }
    } catch (error) {
      return this.#describe(error);
    }
    return `the agent at ${this.#path} has stopped`;
  }

  async #order(path: string, order: DrainOrder): Promise<Asked<DrainAnswer>> {
    const answer = await this.#ask({ path, method: 'POST' }, JSON.stringify(order));
    if (!answer.ok) return answer;
    const parsed = parseJson(answer.value);
    if (typeof parsed?.ok !== 'boolean' || typeof parsed.sentence !== 'string')
      return this.#strange();
    return { ok: true, value: { ok: parsed.ok, sentence: parsed.sentence } };
  }

  /** It is our own agent, or one of another version: enough is checked not to fall over it. */
  #asStatus(text: string): Asked<AgentStatus> {
    const parsed = parseJson(text);
    const isStatus =
      Array.isArray(parsed?.sessions) && Array.isArray(parsed?.claims) && parsed?.node;
    return isStatus ? { ok: true, value: withAllGates(parsed) } : this.#strange();
  }

  #strange<T>(): Asked<T> {
    return {
      ok: false,
      sentence: `what answers at ${this.#path} is not a Herald agent, or one of another version`,
    };
  }

  async #ask(options: RequestOptions, body?: string): Promise<Asked<string>> {
    const opened = await this.#open({ ...options, signal: AbortSignal.timeout(TIMEOUT_MS) }, body);
    if (!opened.ok) return opened;
    try {
      const chunks: string[] = [];
      for await (const chunk of opened.value.setEncoding('utf8')) chunks.push(String(chunk));
      return { ok: true, value: chunks.join('') };
    } catch (error) {
      return { ok: false, sentence: this.#describe(error) };
    }
  }

  #open(options: RequestOptions, body?: string): Promise<Asked<IncomingMessage>> {
    return new Promise((resolve) => {
      const headers = {
        host: 'agent',
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      };
      const request = httpRequest({ ...options, socketPath: this.#path, agent: false, headers });
      request.on('error', (error) => resolve({ ok: false, sentence: this.#describe(error) }));
      request.on('response', (value) => resolve({ ok: true, value }));
      request.end(body);
    });
  }

  #describe(error: unknown): string {
    const path = this.#path;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    switch (code) {
      case 'ENOENT':
      case 'ECONNREFUSED':
      case 'ENOTDIR':
        return `no agent answers at ${path}: is it running? --socket names another path`;
      case 'EACCES':
      case 'EPERM':
        return `${path} may not be opened: run this as root, or as the user that runs the agent`;
      case 'ECONNRESET':
      case 'EPIPE':
        return `the agent at ${path} closed the connection: it has just stopped, or too many look at it already`;
      case 'ABORT_ERR':
      case 'EAGAIN':
        return `the agent at ${path} does not answer: it is stopped, or too busy`;
      default:
        return `the agent at ${path} cannot be asked: ${error instanceof Error ? error.message : error}`;
    }
  }
}

function parseJson(text: string) {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined; // the caller says what it wanted instead
  }
}
