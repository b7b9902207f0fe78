/**
 * JSON to a stream, in large pieces, waiting where the reader is slow: a million objects neither cost a system call each
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

/** As JSON.stringify with an indent of 2 has it, item by item: the text of a large status is longer than a string can be. */
export async function writeJson(stream: NodeJS.WritableStream, value: unknown): Promise<void> {
  let pending = '';
  for (const piece of jsonPieces(value)) {
    pending += piece;
    if (pending.length < PIECE) continue;
    if (!stream.write(pending)) await once(stream, 'drain');
    pending = '';
  }
  stream.write(`${pending}\n`);
}

/** a list below the top, or the top itself, comes item by item */
function* jsonPieces(value: unknown, indent = ''): Generator<string> {
  const inner = `${indent}  `;
  if (Array.isArray(value) && value.length > 0) {
    let between = '[';
    for (const item of value) {
      yield `${between}\n${inner}${indented(item, inner)}`;
      between = ',';
    }
    yield `\n${indent}]`;
  } else if (indent === '' && isRecord(value)) {
    const entries = Object.entries(value).filter(([, field]) => field !== undefined);
    let between = '{';
    for (const [name, field] of entries) {
      yield `${between}\n${inner}${JSON.stringify(name)}: `;
      yield* jsonPieces(field, inner);
      between = ',';
    }
    yield entries.length === 0 ? '{}' : '\n}';
  } else yield indented(value, indent);
}

function indented(value: unknown, indent: string): string {
  return (JSON.stringify(value, undefined, 2) ?? 'null').replaceAll('\n', `\n${indent}`);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
