/**
 * `herald decode --mrt`: an MRT file, plain or gzip, as JSON lines. Streams: neither the file nor the output is ever in memory
 * as a whole. A record that cannot be read is a line with ok:false, and the next one is tried.
 */

import { createReadStream, openSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import {
  type CodecContext,
  decodeAt,
  decodeRibEntry,
  describeAttributes,
  describeFault,
  describeIssues,
  describeResult,
  formatAddress,
  formatPrefix,
  type MrtMessage,
  type MrtPeer,
  MrtReader,
  type MrtRecord,
  type MrtRib,
  type MrtRibEntry,
  mrtTypeName,
} from 'bgp-ts';
import { UsageError } from './command.ts';
import { notAMessage } from './not-a-message.ts';
import type { Output } from './output.ts';
import { asked } from './read-path.ts';

type Json = Readonly<Record<string, unknown>>;

const CHUNK = 1024 * 1024;
const MAGIC_LENGTH = 3;
const STATES = ['', 'idle', 'connect', 'active', 'open-sent', 'open-confirm', 'established'];

/** Prints every record of the file; resolves to the exit status. */
export async function decodeMrt(
  file: string,
  context: CodecContext,
  output: Output,
): Promise<number> {
  const { head, rest } = await begin(file);
  const lines = new MrtLines(context, output);
  try {
    const chunks = join(head, rest);
    if (isGzip(head)) await pipeline(chunks, createGunzip({ chunkSize: CHUNK }), lines.take);
    else await pipeline(chunks, lines.take);
  } catch (error) {
    if (!isStreamError(error)) throw error;
    lines.fail(`cannot read ${file} any further: ${error.message}`);
  }
  await output.flush();
  return lines.hasFailed ? 1 : 0;
}

interface Begun {
  /** at least the octets that tell what it is, where there are so many */
  readonly head: Buffer;
  readonly rest: AsyncIterator<Buffer>;
}

/** Reads in order and nothing twice, so that a pipe will do: `--mrt <(bzcat updates.bz2)`. */
async function begin(file: string): Promise<Begun> {
  try {
    const fd = file === '-' ? 0 : asked(file, () => openSync(file, 'r'));
    const source = createReadStream(file, { fd, highWaterMark: CHUNK });
    const rest: AsyncIterator<Buffer> = source[Symbol.asyncIterator]();
    let head: Buffer = Buffer.alloc(0);
    while (head.length < MAGIC_LENGTH) {
      const next = await rest.next();
      if (next.done === true) break;
      head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
    }
    return { head, rest };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot read ${file}: ${error instanceof Error ? error.message : error}`);
  }
}

async function* join(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  try {
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

function isGzip(head: Buffer): boolean {
  if (head.toString('latin1', 0, MAGIC_LENGTH) === 'BZh') {
    throw new UsageError('the file is bzip2: unpack it first (bunzip2), or use gzip');
  }
  return head[0] === 0x1f && head[1] === 0x8b;
}

/** a broken gzip stream or a disk that fails, not a mistake of ours */
function isStreamError(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string')
    return false;
  return (
    error.code.startsWith('Z_') ||
    error.code === 'EIO' ||
    error.code === 'ERR_STREAM_PREMATURE_CLOSE'
  );
}

class MrtLines {
  hasFailed = false;
  readonly #context: CodecContext;
  readonly #output: Output;
  readonly #reader = new MrtReader();
  /** the contexts that records ask for, made once: two bits of the record */
  readonly #contexts: readonly CodecContext[];

  constructor(context: CodecContext, output: Output) {
    this.#context = context;
    this.#output = output;
    this.#contexts = [0, 1, 2, 3].map((bits) => this.#contextFor(bits));
  }

  /** the end of a pipeline: takes all chunks */
  readonly take = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of chunks) {
      this.#reader.push(chunk);
      for (let record = this.#reader.next(); record !== undefined; record = this.#reader.next()) {
        this.#record(record);
        await this.#output.relieve();
      }
    }
    const last = this.#reader.end();
    if (last !== undefined) this.fail(last.detail);
  };

  fail(detail: string): void {
    this.#line(notAMessage(detail));
  }

  #line(value: Json): void {
    if (value['ok'] !== true) this.hasFailed = true;
    this.#output.line(value);
  }

  #record(record: MrtRecord): void {
    switch (record.kind) {
      case 'message':
        this.#message(record);
        return;
      case 'rib':
        for (const entry of record.entries) this.#line(describeEntry(record, entry));
        return;
      case 'state-change': {
        const stateChange = { from: stateName(record.from), to: stateName(record.to) };
        this.#line({ ok: true, stateChange, mrt: describeHeader(record, record.peer) });
        return;
      }
      case 'peer-index':
        return;
      case 'unknown': {
        const detail = `MRT type ${record.type}, subtype ${record.subtype} is not supported`;
        this.#line({ ...notAMessage(detail), mrt: describeHeader(record) });
        return;
      }
      case 'malformed':
        this.#line({ ...notAMessage(record.detail), mrt: describeHeader(record) });
        return;
    }
  }

  #message(record: MrtMessage): void {
    const context =
      this.#contexts[(record.as4 ? 1 : 0) | (record.addPath ? 2 : 0)] ?? this.#context;
    const result = decodeAt(record.bytes, record.start, record.end, context);
    this.#line({ ...describeResult(result), mrt: describeHeader(record, record.peer) });
  }

  #contextFor(bits: number): CodecContext {
    const context = this.#context;
    const families = [1, 2].flatMap((afi) => [1, 2].map((safi) => ({ afi, safi })));
    const addPathReceive = (bits & 2) === 0 ? context.addPathReceive : families;
    return { ...context, as4: (bits & 1) !== 0, extendedMessage: true, addPathReceive };
  }
}

function describeEntry(record: MrtRib, entry: MrtRibEntry): Json {
  const mrt = describeHeader(record, entry.peer);
  const peer = entry.peer && describePeer(entry.peer);
  const prefix = formatPrefix(record.prefix);
  const source = { afi: record.afi, safi: record.safi, as4: record.as4 };
  const decoded = decodeRibEntry(record.bytes, entry.start, entry.end, source);
  if (!decoded.ok) {
    return { ok: false, fault: describeFault(decoded.fault), rib: { prefix, peer }, mrt };
  }
  const attributes = describeAttributes(decoded.attributes);
  const rib = { prefix, pathId: entry.pathId, peer, attributes };
  return { ok: true, rib, issues: describeIssues(decoded.issues), mrt };
}

function describeHeader(
  record: Pick<MrtRecord, 'seconds' | 'micros' | 'type' | 'subtype'>,
  peer?: MrtPeer,
): Json {
  return { time: time(record), type: mrtTypeName(record), peer: peer && describePeer(peer) };
}

/** ISO 8601 in UTC, with microseconds where the record has them */
function time({ seconds, micros }: { seconds: number; micros: number }): string {
  const text = new Date(seconds * 1000).toISOString().slice(0, 19);
  return micros === 0 ? `${text}Z` : `${text}.${String(micros).padStart(6, '0')}Z`;
}

function describePeer({ address, asn }: MrtPeer): Json {
  return { address: formatAddress(address), asn };
}

function stateName(state: number): string | number {
  return STATES[state] || state;
}
