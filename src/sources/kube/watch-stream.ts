/**
 * One watch from its request to its end. Ends by the server (which does so after `timeoutSeconds`), by the network, by its signal, or
 * because nothing at all has come for too long: bookmarks come every minute, so a watch without a byte is one that nobody feeds.
 *
 * Thousands of events that come together are no single turn of the main thread: all watches share some milliseconds of each.
 */

import type { IncomingMessage } from 'node:http';
import { type PieceReader, ReadTurns, type Timer } from 'bgp-ts';
import { ApiUnreachable, type WatchEnd, type WatchOptions } from './api.ts';
import { statusError } from './api-status.ts';
import {
  type HttpFailure,
  type HttpRequest,
  type HttpTarget,
  openRequest,
  type RequestBounds,
} from './http-request.ts';
import { parseWatchLine, watchEndOf } from './watch-event.ts';
import { WatchLines } from './watch-lines.ts';

export interface WatchBounds extends RequestBounds {
  /** until the server has taken it up */
  readonly answerMs: number;
  readonly silentAfterMs: number;
}

export type StreamEnd =
  | { readonly kind: 'ended'; readonly end: WatchEnd; readonly status: number }
  | ({ readonly kind: 'failure' } & HttpFailure);

/** of an answer that is no watch: enough for a sentence */
const MAX_REFUSAL = 64 * 1024;

/** of all watches together */
const turns = new ReadTurns();

export function streamWatch(
  target: HttpTarget,
  request: HttpRequest,
  bounds: WatchBounds,
  options: WatchOptions,
): Promise<StreamEnd> {
  return new Promise((resolve) => {
    const stream = new WatchStream(bounds, options, (end) => {
      resolve(end);
      opened.destroy();
    });
    const opened = openRequest(target, request, bounds, {
      onFailure: (failure) => stream.fail(failure),
      onAnswer: (answer) => stream.read(answer, target.url.host),
    });
    stream.awaitAnswer(() => opened.destroy(new Error(`no answer within ${bounds.answerMs} ms`)));
  });
}

class WatchStream implements PieceReader {
  readonly #bounds: WatchBounds;
  readonly #options: WatchOptions;
  readonly #resolve: (end: StreamEnd) => void;
  readonly #lines = new WatchLines();
  #unread: Iterator<string, undefined> = [].values();
  #answer: IncomingMessage | undefined;
  #hasEnded = false;
  #timer: Timer | undefined;
  #lastByteMs = 0;
  #isOver = false;

  constructor(bounds: WatchBounds, options: WatchOptions, resolve: (end: StreamEnd) => void) {
    this.#bounds = bounds;
    this.#options = options;
    this.#resolve = resolve;
  }

  awaitAnswer(late: () => void): void {
    this.#timer = this.#bounds.clock.startTimer(this.#bounds.answerMs, late);
  }

  fail(failure: HttpFailure): void {
    if (this.#options.signal.aborted) this.#end({ kind: 'closed' });
    else this.#finish({ kind: 'failure', ...failure });
  }

  read(answer: IncomingMessage, host: string): void {
    this.#timer?.cancel();
    const status = answer.statusCode ?? 0;
    answer.on('error', (error) => this.fail(brokenOff(host, error)));
    if (status !== 200) {
      this.#readRefusal(answer, status);
      return;
    }
    this.#lastByteMs = this.#bounds.clock.now();
    this.#listen(this.#bounds.silentAfterMs);
    this.#options.onOpen?.();
    this.#answer = answer;
    answer.on('data', (chunk: Buffer) => this.#take(chunk));
    answer.on('end', () => {
      this.#hasEnded = true;
      // behind what waits
      turns.offer(this);
    });
  }

  /** one event; no more is read of the answer until the last of them */
  readPiece(): boolean {
    const line = this.#unread.next();
    if (this.#isOver) return false;
    if (line.done === true) {
      if (this.#hasEnded) this.#end({ kind: 'closed' });
      else this.#answer?.resume();
      return false;
    }
    const parsed = parseWatchLine(line.value);
    if (parsed.kind === 'event') this.#options.onEvent(parsed.event);
    else if (parsed.kind === 'end') this.#end(parsed.end);
    return true;
  }

  #take(chunk: Buffer): void {
    this.#lastByteMs = this.#bounds.clock.now();
    let lines: readonly string[];
    try {
      lines = this.#lines.push(chunk);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#end({ kind: 'failed', error });
      return;
    }
    if (lines.length === 0) return;
    this.#unread = lines.values();
    this.#answer?.pause();
    turns.offer(this);
  }

  /** not one timer per chunk: the one that is there looks when the last byte came */
  #listen(delayMs: number): void {
    this.#timer = this.#bounds.clock.startTimer(delayMs, () => {
      const quietMs = this.#bounds.clock.now() - this.#lastByteMs;
      const leftMs = this.#bounds.silentAfterMs - quietMs;
      if (leftMs > 0) this.#listen(leftMs);
      else this.#end({ kind: 'silent' });
    });
  }

  #readRefusal(answer: IncomingMessage, status: number): void {
    let text = '';
    answer.on('data', (chunk: Buffer) => {
      if (text.length < MAX_REFUSAL) text += chunk.toString();
    });
    this.awaitAnswer(() => answer.destroy(new Error('the refusal did not end')));
    answer.on('end', () => {
      const error = statusError(status, jsonOr(text), answer.headers['retry-after']);
      this.#end(watchEndOf(error), status);
    });
  }

  #end(end: WatchEnd, status = 200): void {
    this.#finish({ kind: 'ended', end, status });
  }

  #finish(end: StreamEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    this.#resolve(end);
  }
}

function brokenOff(host: string, error: Error): HttpFailure {
  const unreachable = new ApiUnreachable(`${host} broke off a watch: ${error.message}`, error);
  return { error: unreachable, wasSent: true, wasStale: false, isDeaf: false };
}

/** what is no JSON is text: a page of something that stands in between */
export function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
