/**
 * An incremental reader of MRT files (RFC 6396 §2): chunks in, records out. Knows no file and no stream, holds no more than
 * the record that is not complete yet, and never throws for what a file says.
 *
 *   timestamp (4)  type (2)  subtype (2)  length (4)  [microseconds (4), in the _ET types, counted by the length]  body
 *
 * @example
 * const reader = new MrtReader();
 * reader.push(chunk);
 * for (let record = reader.next(); record !== undefined; record = reader.next()) use(record);
 * const last = reader.end(); // a record that was cut off, if any
 */

import { u16At, u32At } from '../bytes/peek.ts';
import { ByteReader, OutOfBytes } from '../bytes/reader.ts';
import { readBgp4mp } from './bgp4mp.ts';
import {
  type MrtHeader,
  type MrtMalformed,
  type MrtPeer,
  type MrtRecord,
  MrtType,
} from './record.ts';
import { readTableDump, readTableDumpV2 } from './table-dump.ts';

const HEADER_LENGTH = 12;
/** A RIB record holds 65,535 entries at most; what claims to be longer than this is not MRT, and is not waited for. */
const MAX_RECORD_LENGTH = 64 * 1024 * 1024;

/**
 * Chunks in, records out.
 *
 * @example
 * reader.push(chunk);
 * for (let record = reader.next(); record; record = reader.next()) use(record);
 */
export class MrtReader {
  #bytes: Uint8Array = new Uint8Array(0);
  /** the next record starts here */
  #at = 0;
  /** what was pushed ends here; the array may be longer */
  #end = 0;
  /** the array was made here, so that there may be room behind `#end` */
  #isOwn = false;
  #isLost = false;
  #peers: readonly MrtPeer[] = [];

  /** Takes the next bytes. They are not copied unless a record lies across two chunks: do not change them afterwards. */
  push(chunk: Uint8Array): void {
    const left = this.#end - this.#at;
    if (left === 0) {
      this.#bytes = chunk;
      this.#at = 0;
      this.#end = chunk.length;
      this.#isOwn = false;
      return;
    }
    if (!this.#isOwn || this.#end + chunk.length > this.#bytes.length) {
      const bigger = new Uint8Array(2 * (left + chunk.length));
      bigger.set(this.#bytes.subarray(this.#at, this.#end));
      this.#bytes = bigger;
      this.#at = 0;
      this.#end = left;
      this.#isOwn = true;
    }
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** The next complete record, or undefined until more is pushed. */
  next(): MrtRecord | undefined {
    const bytes = this.#bytes;
    const start = this.#at;
    const left = this.#end - start;
    if (left < HEADER_LENGTH || this.#isLost) return undefined;
    const length = u32At(bytes, start + 8);
    if (length > MAX_RECORD_LENGTH) return this.#lose(`a record of ${length} octets`);
    const bodyStart = start + HEADER_LENGTH;
    const end = bodyStart + length;
    if (end > this.#end) return undefined;
    this.#at = end;
    const seconds = u32At(bytes, start);
    const type = u16At(bytes, start + 4);
    const subtype = u16At(bytes, start + 6);
    if (type !== MrtType.bgp4mpEt) {
      return this.#read({ seconds, micros: 0, type, subtype }, bodyStart, end);
    }
    if (length < 4)
      return malformed({ seconds, micros: 0, type, subtype }, 'no room for a timestamp');
    const micros = u32At(bytes, bodyStart);
    return this.#read({ seconds, micros, type, subtype }, bodyStart + 4, end);
  }

  /** To be called when no more will come: says so if the file ends inside a record. */
  end(): MrtMalformed | undefined {
    const left = this.#end - this.#at;
    if (left === 0 || this.#isLost) return undefined;
    return this.#lose(`the file ends ${left} octets after the start of a record`);
  }

  /** No telling where the next record starts. */
  #lose(detail: string): MrtMalformed {
    this.#isLost = true;
    return malformed({ seconds: 0, micros: 0, type: 0, subtype: 0 }, detail);
  }

  #read(header: MrtHeader, start: number, end: number): MrtRecord {
    if (header.type === MrtType.bgp4mp || header.type === MrtType.bgp4mpEt) {
      return readBgp4mp(header, this.#bytes, start, end);
    }
    try {
      return this.#readTable(header, new ByteReader(this.#bytes, start, end));
    } catch (error) {
      if (error instanceof OutOfBytes)
        return malformed(header, `the record is too short: ${error.message}`);
      throw error;
    }
  }

  #readTable(header: MrtHeader, reader: ByteReader): MrtRecord {
    if (header.type === MrtType.tableDump) return readTableDump(header, reader);
    if (header.type !== MrtType.tableDumpV2) {
      return { kind: 'unknown', ...header, length: reader.remaining };
    }
    const record = readTableDumpV2(header, reader, this.#peers);
    if (record.kind === 'peer-index') this.#peers = record.peers;
    return record;
  }
}

function malformed(header: MrtHeader, detail: string): MrtMalformed {
  return { kind: 'malformed', ...header, detail };
}
