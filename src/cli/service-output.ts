/**
 * Where a service writes its log, so that nobody who does not take it holds up the main thread: Node writes to terminals and files within the call, and
 * waits there for as long as they do.
 *
 * A terminal gets a description of its own that does not wait: lines leave with the call while it takes them, and are tried again when it did not. A
 * file is written by Node's threads, one write at a time. What waits is in `writableLength`, and the log bounds it. What cannot be
 * written is left out: routes matter more than what is said about them.
 */

import { constants, openSync, write, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { errorCode } from '../error-code.ts';

type Put = (bytes: Uint8Array, done: (error: unknown, written: number) => void) => void;

const AGAIN_MS = 50;
const LINE_END = Buffer.from('\n');

export class ServiceOutput extends Writable {
  readonly #put: Put;
  /** what was written last ended within a line */
  #isCut = false;

  constructor(fd: number, isTerminal: boolean) {
    super();
    const own = isTerminal ? ownDescription(fd) : undefined;
    this.#put = own === undefined ? (bytes, done) => write(fd, bytes, done) : putAtOnce(own);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const bytes = this.#isCut ? Buffer.concat([LINE_END, chunk]) : chunk;
    this.#isCut = false;
    this.#writeAll(bytes, done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'utf8', done);
  }

  #writeAll(bytes: Buffer, done: () => void): void {
    if (bytes.length === 0) {
      done();
      return;
    }
    this.#put(bytes, (error, written) => {
      if (errorCode(error) === 'EAGAIN') {
        setTimeout(() => this.#writeAll(bytes, done), AGAIN_MS);
        return;
      }
      if (error === null) this.#writeAll(bytes.subarray(written), done);
      else {
        this.#isCut = true;
        done();
      }
    });
  }
}

/** undefined: there is none to be had */
function ownDescription(fd: number): number | undefined {
  try {
    const how = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    return openSync(`/proc/self/fd/${fd}`, how);
  } catch {
    return undefined;
  }
}

function putAtOnce(fd: number): Put {
  return (bytes, done) => {
    let written = 0;
    try {
      written = writeSync(fd, bytes);
    } catch (error) {
      done(error, 0);
      return;
    }
    done(null, written);
  };
}
