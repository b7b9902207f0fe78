/**
 * JSON lines to a stream, in large pieces, waiting where the reader is slow: a million objects neither cost a system call each
 * nor pile up in memory.
 */

import { once } from 'node:events';

const PIECE = 64 * 1024;

export class Output {
  readonly #stream: NodeJS.WritableStream;
  #pending: string[] = [];
  #size = 0;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
  }

  line(value: unknown): void {
    const text = `${JSON.stringify(value)}\n`;
    this.#pending.push(text);
    this.#size += text.length;
  }

  /** Writes if enough has come together; resolves when the stream takes more. */
  async relieve(): Promise<void> {
    if (this.#size >= PIECE) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#size === 0) return;
    const text = this.#pending.join('');
    this.#pending = [];
    this.#size = 0;
    if (!this.#stream.write(text)) await once(this.#stream, 'drain');
  }
}
