/**
 * Chunks of text into lines. A line that is longer than any message could be is cut there, so that input without line ends
 * cannot fill the memory; what follows up to its end is dropped.
 */

/** 65,535 octets as hex with two separators each, and some room */
const MAX_LINE = 512 * 1024;

export class Lines {
  #rest = '';
  #isDropping = false;

  /** Calls `take` for every line that is complete now. */
  push(chunk: string, take: (line: string) => void): void {
    let from = 0;
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', from)) {
      this.#finish(chunk.slice(from, end), take);
      from = end + 1;
    }
    this.#keep(chunk.slice(from), take);
  }

  /** The last line needs no line end. */
  end(take: (line: string) => void): void {
    if (this.#rest !== '') this.#finish('', take);
  }

  #finish(tail: string, take: (line: string) => void): void {
    if (!this.#isDropping) take(this.#rest + tail);
    this.#rest = '';
    this.#isDropping = false;
  }

  #keep(part: string, take: (line: string) => void): void {
    if (this.#isDropping) return;
    this.#rest += part;
    if (this.#rest.length <= MAX_LINE) return;
    take(this.#rest);
    this.#rest = '';
    this.#isDropping = true;
  }
}
