/**
 * Bytes of a watch → lines. A line is one event; where the chunks of the network end says nothing. Lines are cut as bytes and decoded
 * whole, so that a character that is spread over two chunks stays one. Pure.
 */

/** etcd takes objects up to 1.5 MB by default; what is longer than this is no event */
const LONGEST = 32 * 1024 * 1024;
const LINE_END = 0x0a;

export class WatchLines {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  /** Whole lines so far, without their ends; empty lines are left out. Throws a RangeError on a line without bounds. */
  push(chunk: Uint8Array): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      const line = this.#finish(chunk.subarray(from, end));
      if (line !== '') lines.push(line);
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return lines;
  }

  #finish(last: Uint8Array): string {
    if (this.#waitingBytes === 0) return this.#decoder.decode(last);
    this.#keep(last);
    const line = new Uint8Array(this.#waitingBytes);
    let at = 0;
    for (const piece of this.#waiting) {
      line.set(piece, at);
      at += piece.length;
    }
    this.#waiting = [];
    this.#waitingBytes = 0;
    return this.#decoder.decode(line);
  }

  #keep(piece: Uint8Array): void {
    this.#waitingBytes += piece.length;
    if (this.#waitingBytes > LONGEST) throw new RangeError(`a line of more than ${LONGEST} bytes`);
    this.#waiting.push(piece);
  }
}
