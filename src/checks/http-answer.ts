/**
 * Reads the answer to one GET: its status, the beginning of its body, and where it ends. Pure.
 *
 * Not Node's parser: that one calls back for each interim answer and each chunk, and a server that sends them without an end, a few octets
 * each, keeps the main thread busy for as long as it likes, before any timer of ours. Here an answer costs what its octets cost, and no more
 * than 16 KB of head and 64 KB of body are looked at. The server is whoever has the address of a claim, so it is nobody's friend.
 */

const MAX_HEAD = 16 * 1024;
const MAX_BODY = 64 * 1024;
const KEEP_BODY = 8 * 1024;
/** 100 Continue and its like, before the answer */
const MAX_INTERIM = 8;
/** of a chunk, with its extensions */
const MAX_SIZE_LINE = 1024;
/** who sends more of them within 64 KB means no good; what has come is enough */
const MAX_CHUNKS = 256;
const BEGINNING = 'HTTP/1.';
const STATUS_LINE = /^HTTP\/1\.[01] ([1-9]\d\d)(?: .*)?\r?$/m;
const HEAD_END = /\r?\n\r?\n/;
const LENGTH = /^content-length:[ \t]*(\d{1,15})[ \t]*\r?$/im;
const CHUNKED = /^transfer-encoding:.*\bchunked[ \t]*\r?$/im;
const LINE_FEED = 0x0a;

type Part = 'head' | 'body' | 'chunk-size' | 'chunk' | 'chunk-end';

export class HttpAnswer {
  #part: Part = 'head';
  #head = '';
  #interim = 0;
  #sizeLine = '';
  #chunks = 0;
  /** octets that are still to come of the body or the chunk */
  #left = Number.POSITIVE_INFINITY;
  #bodyLength = 0;
  readonly #kept: Buffer[] = [];
  #keptLength = 0;
  /** of the answer itself, once its head is there */
  status: number | undefined;
  /** nothing more is needed: the body has ended, or enough of it has come */
  isOver = false;
  /** this is not an answer in HTTP/1 */
  isForeign = false;

  /** the beginning of the body */
  get body(): string {
    return Buffer.concat(this.#kept).toString('utf8');
  }

  push(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0 && !this.isOver && !this.isForeign) {
      rest = this.#part === 'head' ? this.#readHead(rest) : this.#readBody(rest);
    }
  }

  /** The server has said all that it says. True where that is the end of the body. */
  end(): boolean {
    if (this.#part === 'body' && this.#left === Number.POSITIVE_INFINITY) this.isOver = true;
    return this.isOver;
  }

  /** Answers what stands behind the head. */
  #readHead(bytes: Buffer): Buffer {
    const before = this.#head.length;
    this.#head += bytes.toString('latin1', 0, MAX_HEAD + 1 - before);
    const end = HEAD_END.exec(this.#head);
    const start = this.#head.slice(0, BEGINNING.length);
    if (!BEGINNING.startsWith(start) || (end === null && this.#head.length > MAX_HEAD)) {
      this.isForeign = true;
    }
    if (end === null) return NOTHING;
    const head = this.#head.slice(0, end.index);
    const rest = bytes.subarray(end.index + end[0].length - before);
    this.#head = '';
    const [, status = ''] = STATUS_LINE.exec(head) ?? [];
    if (status === '') this.isForeign = true;
    else if (status.startsWith('1') && status !== '101') this.#countInterim();
    else this.#begin(Number(status), head);
    return rest;
  }

  #countInterim(): void {
    this.#interim += 1;
    if (this.#interim > MAX_INTERIM) this.isForeign = true;
  }

  #begin(status: number, head: string): void {
    this.status = status;
    this.#part = 'body';
    const length = LENGTH.exec(head)?.[1];
    if (status === 204 || status === 304) this.isOver = true;
    else if (CHUNKED.test(head)) this.#part = 'chunk-size';
    else if (length !== undefined) {
      this.#left = Number(length);
      this.isOver = this.#left === 0;
    }
  }

  #readBody(bytes: Buffer): Buffer {
    const rest = this.#part === 'chunk-size' ? this.#readSize(bytes) : this.#readContent(bytes);
    this.#bodyLength += bytes.length - rest.length;
    if (this.#bodyLength >= MAX_BODY) this.isOver = true;
    return rest;
  }

  #readSize(bytes: Buffer): Buffer {
    const end = bytes.indexOf(LINE_FEED);
    const taken = end < 0 ? bytes.length : end + 1;
    this.#sizeLine += bytes.toString('latin1', 0, Math.min(taken, MAX_SIZE_LINE));
    if (this.#sizeLine.length >= MAX_SIZE_LINE) this.isForeign = true;
    if (end >= 0) {
      const [, size] = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?\r?\n$/i.exec(this.#sizeLine) ?? [];
      this.#sizeLine = '';
      if (size === undefined) this.isForeign = true;
      else this.#left = Number.parseInt(size, 16);
      this.#chunks += 1;
      // what may follow the last chunk is no body
      if (this.#left === 0 || this.#chunks > MAX_CHUNKS) this.isOver = true;
      this.#part = 'chunk';
    }
    return bytes.subarray(taken);
  }

  #readContent(bytes: Buffer): Buffer {
    const taken = Math.min(this.#left, bytes.length);
    this.#left -= taken;
    if (this.#part !== 'chunk-end') this.#keep(bytes.subarray(0, taken));
    if (this.#left === 0) this.#next(bytes[taken - 1]);
    return bytes.subarray(taken);
  }

  /** A body of a known length is over; a chunk is followed by a line end, that one by the next chunk. */
  #next(last: number | undefined): void {
    if (this.#part === 'body') this.isOver = true;
    else if (this.#part === 'chunk' || last !== LINE_FEED) {
      // a carriage return comes first where the server writes lines as it should
      if (this.#part === 'chunk-end' && last !== 0x0d) this.isForeign = true;
      this.#part = 'chunk-end';
      this.#left = 1;
    } else this.#part = 'chunk-size';
  }

  #keep(bytes: Buffer): void {
    const wanted = Math.min(KEEP_BODY - this.#keptLength, bytes.length);
    if (wanted <= 0) return;
    this.#kept.push(bytes.subarray(0, wanted));
    this.#keptLength += wanted;
  }
}

const NOTHING = Buffer.alloc(0);
