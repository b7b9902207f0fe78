/**
 * Writes long answers in pieces, with turns of the main thread between them: BGP sessions live on the same thread, and an answer of 100 MB in
 * one piece would be a second without a keepalive, and all of it in memory. A piece is small in octets and in time, the next one is made
 * when its reader has taken the last, and all pieces together take at most half of the time, however many read.
 */

import type { ServerResponse } from 'node:http';
import { labelled } from '../turns/work-labels.ts';

const PIECE_LENGTH = 256 * 1024;
const PIECE_MS = 10;

export interface LongAnswer {
  readonly response: ServerResponse;
  readonly pieces: Iterable<string>;
  /** the last piece has been handed over; with the milliseconds that all took. Not where the reader has gone */
  readonly onWritten: (tookMs: number) => void;
  /** making a piece has failed: this answer ends, no other */
  readonly onFailed: (error: unknown) => void;
}

class Job {
  readonly #answer: LongAnswer;
  readonly #pieces: Iterator<string>;
  readonly #onDrain: () => void;
  readonly #onClose: () => void;
  #tookMs = 0;

  constructor(answer: LongAnswer, onReady: () => void, onGone: (job: Job) => void) {
    this.#answer = answer;
    this.#pieces = answer.pieces[Symbol.iterator]();
    this.#onDrain = onReady;
    this.#onClose = () => onGone(this);
    answer.response.on('drain', this.#onDrain).on('close', this.#onClose);
  }

  get isReady(): boolean {
    return !this.#answer.response.writableNeedDrain;
  }

  /** True when it is over. */
  step(): boolean {
    const { response, onWritten, onFailed } = this.#answer;
    const startedMs = performance.now();
    try {
      const { text, isLast } = labelled('status', () => this.#piece(startedMs));
      response.write(text);
      this.#tookMs += performance.now() - startedMs;
      if (!isLast) return false;
      this.#end();
      onWritten(this.#tookMs);
    } catch (error) {
      this.#end();
      response.destroy();
      onFailed(error);
    }
    return true;
  }

  /** the same reader may get another answer on the same response */
  #end(): void {
    this.#answer.response.off('drain', this.#onDrain).off('close', this.#onClose);
  }

  #piece(startedMs: number): { readonly text: string; readonly isLast: boolean } {
    const parts: string[] = [];
    let length = 0;
    while (length < PIECE_LENGTH && performance.now() - startedMs < PIECE_MS) {
      const { done, value } = this.#pieces.next();
      if (done === true) return { text: parts.join(''), isLast: true };
      parts.push(value);
      length += value.length;
    }
    return { text: parts.join(''), isLast: false };
  }
}

export class PieceWriter {
  /** in the order in which they are served */
  readonly #jobs = new Set<Job>();
  #timer: NodeJS.Timeout | undefined;
  #notBeforeMs = 0;

  /** The first piece may be written within this call. */
  write(answer: LongAnswer): void {
    if (answer.response.closed) return;
    const onReady = () => this.#schedule();
    this.#jobs.add(new Job(answer, onReady, (job) => this.#jobs.delete(job)));
    if (this.#timer === undefined && performance.now() >= this.#notBeforeMs) this.#step();
    else this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined || !this.#hasReady()) return;
    const waitMs = Math.max(0, this.#notBeforeMs - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#step();
    }, waitMs);
  }

  #hasReady(): boolean {
    for (const { isReady } of this.#jobs) if (isReady) return true;
    return false;
  }

  #step(): void {
    for (const job of this.#jobs) {
      if (!job.isReady) continue;
      // behind the others
      this.#jobs.delete(job);
      const startedMs = performance.now();
      if (!job.step()) this.#jobs.add(job);
      const endedMs = performance.now();
      this.#notBeforeMs = endedMs + (endedMs - startedMs);
      break;
    }
    this.#schedule();
  }
}
