/**
 * Does a URL answer with 200 to 399? One connection per question, never kept: a kept one would say nothing about whether a new
 * client gets in. Redirects are answers, they are not followed.
 *
 * The answer counts when its body has ended or 64 KB of it have come, whatever is first; what is left is not read. The socket is
 * closed on every way out.
 */

import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { errorCode } from '../error-code.ts';
import { fileThreads } from './file-threads.ts';
import {
  type Ask,
  type Attempt,
  fail,
  firstLine,
  pass,
  runBounded,
  type TargetOf,
} from './probe-bounds.ts';
import { describeFileError, describeSocketError } from './probe-failure.ts';
import { distrust, hostOf, openTls, readTrust, type Trust } from './probe-tls.ts';
import type { Answer } from './verdict.ts';

const MAX_BODY = 64 * 1024;
const KEEP_BODY = 8 * 1024;
const NOT_TRUSTED =
  'shows a certificate that is not trusted here: is it the one of pinSHA256, and not expired?';

export function probeHttp(target: TargetOf<'http'>, ask: Ask): void {
  runBounded(ask, (finish) => {
    const url = URL.parse(target.url);
    if (url === null) {
      finish(fail(`${target.url} cannot be asked: it is not a URL`));
      return { release: () => {}, late: () => target.url };
    }
    const attempt = new HttpAttempt(target, url, finish);
    attempt.start();
    return attempt;
  });
}

class HttpAttempt implements Attempt {
  readonly #target: TargetOf<'http'>;
  readonly #url: URL;
  readonly #finish: (answer: Answer) => void;
  #socket: Socket | undefined;
  #isReleased = false;
  #isAnswering = false;
  /** what has not happened yet */
  #awaited = 'was not asked';

  constructor(target: TargetOf<'http'>, url: URL, finish: (answer: Answer) => void) {
    this.#target = target;
    this.#url = url;
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
    this.#socket?.destroy();
  }

  late(): string {
    return `${this.#target.url} ${this.#awaited}`;
  }

  #fail(predicate: string): void {
    this.#finish(fail(`${this.#target.url} ${predicate}`));
  }

  #readAuthority(caFile: string): void {
    this.#awaited = `was not asked: the CA file ${caFile} could not be read`;
    void fileThreads.text(caFile).then((answer) => {
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
    const socket = connect({ host: hostOf(this.#url), port: Number(this.#url.port || 80) });
    this.#own(socket);
    socket.once('connect', () => this.#ask(socket));
  }

  #openTls(trust?: Trust): void {
    if (this.#isReleased) return;
    const socket = openTls(this.#target, this.#url, trust);
    this.#own(socket);
    socket.once('connect', () => {
      this.#awaited = 'accepted the connection but did not finish the TLS handshake';
    });
    socket.once('secureConnect', () => {
      const reason = distrust(socket, this.#target, trust);
      if (reason === undefined) this.#ask(socket);
      else if (this.#target.isDiscreet === true) this.#fail(NOT_TRUSTED);
      else this.#fail(reason);
    });
  }

  #own(socket: Socket): void {
    this.#socket = socket;
    this.#awaited = 'did not accept a connection';
    socket.on('error', (error) => this.#lost(describeSocketError(error)));
    socket.on('close', () => this.#lost('closed the connection before it had answered'));
  }

  #lost(predicate: string): void {
    // once the body comes, its own end or error is what counts
    if (!this.#isAnswering) this.#fail(predicate);
  }

  #ask(socket: Socket): void {
    this.#awaited = 'accepted the connection but did not answer';
    const { host, pathname, search } = this.#url;
    const asked = request({
      createConnection: () => socket,
      path: pathname + search,
      headers: { host, 'user-agent': 'herald', accept: '*/*', connection: 'close' },
    });
    asked.on('error', (error) => {
      // all others are the socket's, and it tells them better: a hang-up is called a reset here
      if (errorCode(error)?.startsWith('HPE_')) this.#lost(describeSocketError(error));
    });
    asked.on('response', (response) => this.#read(response));
    asked.end();
  }

  #read(response: IncomingMessage): void {
    const { statusCode = 0 } = response;
    const said = `answered ${statusCode}`;
    this.#isAnswering = true;
    this.#awaited = `${said} but its body did not end`;
    let text = '';
    let size = 0;
    const conclude = () => {
      if (statusCode >= 200 && statusCode < 400) {
        return this.#finish(pass(`${this.#target.url} ${said}`));
      }
      const detail = this.#target.isDiscreet === true ? '' : tellingLine(text);
      this.#fail(detail === '' ? said : `${said}: ${detail}`);
    };
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      if (text.length < KEEP_BODY) text += chunk.slice(0, KEEP_BODY);
      size += chunk.length;
      if (size >= MAX_BODY) conclude();
    });
    response.on('end', conclude);
    response.on('error', () => this.#fail(`${said} but broke off in its body`));
  }
}

/** Kubernetes lists each part, `[+]ping ok` before `[-]etcd failed`: the first that failed is the one to know. */
function tellingLine(body: string): string {
  return firstLine(/^\[-\].*$/m.exec(body)?.[0] ?? body);
}
