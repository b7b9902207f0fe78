/** One request and the whole of its answer, within a deadline and a bound on its length. */

import type { IncomingMessage } from 'node:http';
import { ApiUnreachable } from './api.ts';
import {
  type HttpFailure,
  type HttpRequest,
  type HttpTarget,
  openRequest,
  type RequestBounds,
} from './http-request.ts';

export interface CallBounds extends RequestBounds {
  readonly timeoutMs: number;
  /** an answer that is longer is given up: it would be held in memory, and as one text it might end the process */
  readonly mostBytes: number;
}

export type CallOutcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly text: string;
      readonly retryAfter: string | undefined;
    }
  /** it has more than `mostBytes`: the rest was not read */
  | { readonly kind: 'too-long'; readonly status: number }
  | ({ readonly kind: 'failure' } & HttpFailure);

export function callHttp(
  target: HttpTarget,
  request: HttpRequest,
  bounds: CallBounds,
): Promise<CallOutcome> {
  const { mostBytes } = bounds;
  return new Promise((resolve) => {
    const deadline = bounds.clock.startTimer(bounds.timeoutMs, () =>
      opened.destroy(new Error(`no answer within ${bounds.timeoutMs} ms`)),
    );
    const finish = (outcome: CallOutcome) => {
      deadline.cancel();
      resolve(outcome);
    };
    const opened = openRequest(target, request, bounds, {
      onFailure: (failure) => finish({ kind: 'failure', ...failure }),
      onAnswer: (answer) => {
        const tooLong = () => {
          finish({ kind: 'too-long', status: answer.statusCode ?? 0 });
          opened.destroy();
        };
        readAll(answer, { target, mostBytes, finish, tooLong });
      },
    });
  });
}

interface Reading {
  readonly target: HttpTarget;
  readonly mostBytes: number;
  readonly finish: (outcome: CallOutcome) => void;
  readonly tooLong: () => void;
}

function readAll(
  answer: IncomingMessage,
  { target: { url }, mostBytes, finish, tooLong }: Reading,
): void {
  // decoded as it comes: its octets are not kept beside its text
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let chunks: string[] = [];
  let length = 0;
  answer.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length <= mostBytes) {
      chunks.push(decoder.decode(chunk, { stream: true }));
      return;
    }
    chunks = [];
    tooLong();
  });
  answer.on('end', () => {
    if (length > mostBytes) return;
    chunks.push(decoder.decode());
    finish({
      kind: 'answer',
      status: answer.statusCode ?? 0,
      text: chunks.join(''),
      retryAfter: answer.headers['retry-after'],
    });
  });
  answer.on('error', (error) => {
    const message = `${url.host} broke off in the middle of an answer: ${error.message}`;
    const failure = { wasSent: true, wasStale: false, isDeaf: false };
    finish({ kind: 'failure', error: new ApiUnreachable(message, error), ...failure });
  });
}
