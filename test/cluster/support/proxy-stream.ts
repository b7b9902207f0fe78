/** One answer on its way through the proxy: piece by piece as it comes, and open to faults while it runs. */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiRequest } from './api-request.ts';
import { type Fault, statusBody } from './proxy-rules.ts';

const STEPS_PER_SECOND = 20;

export class ProxyStream {
  readonly request: ApiRequest;
  readonly #answer: ServerResponse;
  readonly #source: IncomingMessage;
  #bytesPerSecond = Number.POSITIVE_INFINITY;
  #isOver = false;

  constructor(request: ApiRequest, answer: ServerResponse, source: IncomingMessage) {
    this.request = request;
    this.#answer = answer;
    this.#source = source;
  }

  /** Resolves when all has gone through or the stream was ended; `onBytes` hears of every piece. */
  async run(onBytes: (count: number) => void): Promise<void> {
    const { statusCode = 502, headers } = this.#source;
    this.#answer.writeHead(statusCode, headers);
    this.#answer.flushHeaders();
    try {
      for await (const chunk of this.#source) {
        onBytes(chunk.length);
        await this.#pass(chunk);
        if (this.#isOver) return;
      }
      this.#answer.end();
    } catch {
      // the server broke off, or the client did: the other one sees a broken connection too
      if (!this.#isOver) this.#answer.destroy();
    }
  }

  /** For a stream that is under way; faults that concern the beginning of a request do nothing. */
  hit(fault: Fault): void {
    if (fault.kind === 'slow') this.#bytesPerSecond = fault.bytesPerSecond;
    if (fault.kind === 'half-open') this.#end();
    if (fault.kind === 'watch-error') {
      this.#end();
      this.#answer.end(errorEvent(fault.code, fault.reason));
    }
  }

  /** From here on nothing comes from the server; the connection to the client is left as it is. */
  #end(): void {
    this.#isOver = true;
    this.#source.destroy();
  }

  async #pass(chunk: Uint8Array): Promise<void> {
    for (let from = 0; from < chunk.length && !this.#isOver; ) {
      const isPaced = Number.isFinite(this.#bytesPerSecond);
      const step = Math.max(1, Math.round(this.#bytesPerSecond / STEPS_PER_SECOND));
      const piece = isPaced ? chunk.subarray(from, from + step) : chunk.subarray(from);
      from += piece.length;
      if (!this.#answer.write(piece)) {
        await Promise.race([once(this.#answer, 'drain'), once(this.#answer, 'close')]);
      }
      if (isPaced) await delay((piece.length / this.#bytesPerSecond) * 1_000);
    }
  }
}

export function errorEvent(code: number, reason: string): string {
  return `${JSON.stringify({ type: 'ERROR', object: statusBody(code, reason) })}\n`;
}
