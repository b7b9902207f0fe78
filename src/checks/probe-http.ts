/**
 * Does a URL answer with 200 to 399? One connection per question, never kept: a kept one would say nothing about whether a new
 * client gets in. Redirects are answers, they are not followed.
 *
 * The answer counts when its body has ended or 64 KB of it have come, whatever is first; what is left is not read. The socket is
 * closed on every way out.
 */

import { connect, isIP, type Socket } from 'node:net';
import { nameLookups } from '../names/name-lookups.ts';
import { fileThreads, type Lane } from './file-threads.ts';
import { HttpAnswer } from './http-answer.ts';
import { PacedSocket } from './paced-socket.ts';
import {
  type Ask,
  type Attempt,
  fail,
  firstLine,
  pass,
  runBounded,
  type TargetOf,
} from './probe-bounds.ts';
import {
  describeFileError,
  describeSocketError,
  NO_ADDRESS,
  NO_CONNECTION,
} from './probe-failure.ts';
import { distrust, hostOf, openTls, readTrust, type Trust } from './probe-tls.ts';
import type { Answer } from './verdict.ts';

const HEADERS = ['User-Agent: herald', 'Accept: */*', 'Connection: close'];
const NOT_TRUSTED =
  'shows a certificate that is not trusted here: is it the one of pinSHA256, and not expired?';

export function probeHttp(target: TargetOf<'http'>, ask: Ask): void {
  runBounded(ask, (finish) => {
    const url = URL.parse(target.url);
    if (url === null) {
      finish(fail(`${target.url} cannot be asked: it is not a URL`));
      return { release: () => {}, late: () => target.url };
    }
    const attempt = new HttpAttempt(target, url, ask.lane ?? 'claim', finish);
    attempt.start();
    return attempt;
  });
}

class HttpAttempt implements Attempt {
  readonly #target: TargetOf<'http'>;
  readonly #url: URL;
  readonly #lane: Lane;
  readonly #finish: (answer: Answer) => void;
  readonly #sockets: Socket[] = [];
  #isReleased = false;
  readonly #answer = new HttpAnswer();
  /** what has not happened yet */
  #awaited = 'was not asked';

  constructor(target: TargetOf<'http'>, url: URL, lane: Lane, finish: (answer: Answer) => void) {
    this.#target = target;
    this.#url = url;
    this.#lane = lane;
    this.#finish = finish;
  }

  start(): void {
    const { caFile } = this.#target;
    if (this.#url.protocol === 'http:') this.#openPlain();
    else if (caFile === undefined) this.#openTls();
    else this.#readAuthority(caFile);
  }

  release(): void {
    this.#isReleased = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  late(): string {
    return `${this.#target.url} ${this.#awaited}`;
  }

  #fail(predicate: string): void {
    this.#finish(fail(`${this.#target.url} ${predicate}`));
  }

  #readAuthority(caFile: string): void {
    this.#awaited = `was not asked: the CA file ${caFile} could not be read`;
    void fileThreads.text(caFile, this.#lane).then((answer) => {
      if (this.#isReleased) return;
      if (answer.kind !== 'text') {
        const reason = answer.kind === 'error' ? describeFileError(answer) : 'it was not read';
        return this.#fail(`cannot be trusted: the CA file ${caFile}: ${reason}`);
      }
      const trust = readTrust(caFile, answer.text);
      if (trust !== undefined) this.#openTls(trust);
      else this.#fail(`cannot be trusted: the CA file ${caFile} holds no PEM certificate`);
    });
  }

  #openPlain(): void {
    const socket = this.#connect(80);
    this.#own(socket);
    socket.once('connect', () => this.#ask(socket));
  }

  #openTls(trust?: Trust): void {
    if (this.#isReleased) return;
    const plain = this.#connect(443);
    plain.on('error', (error) => this.#lost(describeSocketError(error)));
    plain.once('connect', () => {
      if (this.#isReleased) return;
      this.#awaited = 'accepted the connection but did not finish the TLS handshake';
      this.#shakeHands(new PacedSocket(plain), trust);
    });
  }

  #shakeHands(paced: PacedSocket, trust: Trust | undefined): void {
    const socket = openTls(this.#target, { url: this.#url, socket: paced }, trust);
    this.#own(socket);
    socket.once('secureConnect', () => {
      paced.handshakeIsOver();
      const reason = distrust(socket, this.#target, trust);
      if (reason === undefined) this.#ask(socket);
      else if (this.#target.isDiscreet === true) this.#fail(NOT_TRUSTED);
      else this.#fail(reason);
    });
  }

  #connect(usualPort: number): Socket {
    const isAddress = isIP(hostOf(this.#url)) !== 0;
    this.#awaited = isAddress ? NO_CONNECTION : NO_ADDRESS;
    const socket = connect({
      host: hostOf(this.#url),
      port: Number(this.#url.port || usualPort),
      lookup: nameLookups.lookup,
    });
    socket.once('lookup', () => {
      this.#awaited = NO_CONNECTION;
    });
    this.#sockets.push(socket);
    return socket;
  }

  #own(socket: Socket): void {
    this.#sockets.push(socket);
    socket.on('error', (error) => this.#lost(describeSocketError(error)));
    socket.on('close', () => this.#lost('closed the connection before it had answered'));
  }

  #lost(predicate: string): void {
    const { status } = this.#answer;
    this.#fail(status === undefined ? predicate : `answered ${status} but broke off in its body`);
  }

  #ask(socket: Socket): void {
    this.#awaited = 'accepted the connection but did not answer';
    const { host, pathname, search } = this.#url;
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('end', () => {
      if (this.#answer.end()) this.#conclude();
    });
    const lines = [`GET ${pathname}${search} HTTP/1.1`, `Host: ${host}`, ...HEADERS];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  }

  #read(bytes: Buffer): void {
    const answer = this.#answer;
    answer.push(bytes);
    const { status } = answer;
    if (answer.isForeign) this.#fail('did not answer with HTTP');
    else if (answer.isOver) this.#conclude();
    else if (status !== undefined) this.#awaited = `answered ${status} but its body did not end`;
  }

  #conclude(): void {
    const { status = 0, body } = this.#answer;
    const said = `answered ${status}`;
    if (status >= 200 && status < 400) {
      this.#finish(pass(`${this.#target.url} ${said}`));
      return;
    }
    const detail = this.#target.isDiscreet === true ? '' : tellingLine(body);
    this.#fail(detail === '' ? said : `${said}: ${detail}`);
  }
}

/** Kubernetes lists each part, `[+]ping ok` before `[-]etcd failed`: the first that failed is the one to know. */
function tellingLine(body: string): string {
  return firstLine(/^\[-\].*$/m.exec(body)?.[0] ?? body);
}
