/** One request and the whole of its answer, within a deadline. */

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
}

export type CallOutcome =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly text: string;
      readonly retryAfter: string | undefined;
    }
  | ({ readonly kind: 'failure' } & HttpFailure);

export function callHttp(
  target: HttpTarget,
  request: HttpRequest,
  bounds: CallBounds,
): Promise<CallOutcome> {
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
      onAnswer: (answer) => readAll(answer, target, finish),
    });
  });
}

function readAll(
  answer: IncomingMessage,
  { url }: HttpTarget,
  finish: (outcome: CallOutcome) => void,
): void {
  const chunks: Buffer[] = [];
  answer.on('data', (chunk: Buffer) => chunks.push(chunk));
  answer.on('end', () => {
    const [first] = chunks;
    const whole = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
    finish({
      kind: 'answer',
      status: answer.statusCode ?? 0,
      text: whole.toString(),
      retryAfter: answer.headers['retry-after'],
    });
  });
  answer.on('error', (error) => {
    const message = `${url.host} broke off in the middle of an answer: ${error.message}`;
    const failure = { wasSent: true, wasStale: false, isDeaf: false };
    finish({ kind: 'failure', error: new ApiUnreachable(message, error), ...failure });
  });
}
