/**
 * The client of the demo: a new request every few milliseconds, over the next hop that the router's table gives it at that moment. One
 * connection each, as a new client would make; without an answer in time it is lost. Loopback only, and bounded in number: those on
 * their way at one time are at most the time limit over the interval.
 */

import { request as httpRequest } from 'node:http';
import type { Member } from './cast.ts';
import { chooseNextHop } from './ecmp.ts';
import type { RequestLog } from './request-log.ts';

export interface ProberOptions {
  readonly port: number;
  readonly log: RequestLog;
  /** next hops in use, now */
  readonly nextHops: () => readonly Member[];
  /** something is known that was not */
  readonly onChange: () => void;
}

export const INTERVAL_MS = 40;
/** generous: the machine may be busy, and a request that was late is not one that was lost */
const TIMEOUT_MS = 1000;
const MAX_BODY = 100;

export class Prober {
  readonly #options: ProberOptions;
  #timer: NodeJS.Timeout | undefined;
  #flow = 0;

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#send(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #send(): void {
    const { log, nextHops, onChange, port } = this.#options;
    this.#flow += 1;
    const member = chooseNextHop(this.#flow, nextHops());
    if (member === undefined) {
      log.unroutable();
      onChange();
      return;
    }
    const finish = log.sent(member.id);
    ask(member, port, (isAnswered) => {
      finish(isAnswered);
      onChange();
    });
  }
}

/** `done` is called once, whatever happens. */
function ask({ address, name }: Member, port: number, done: (isAnswered: boolean) => void): void {
  let isDone = false;
  const end = (isAnswered: boolean) => {
    if (isDone) return;
    isDone = true;
    done(isAnswered);
  };
  const request = httpRequest({
    host: address,
    port,
    path: '/',
    agent: false,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  request.on('error', () => end(false));
  request.on('response', (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      if (body.length < MAX_BODY) body += text;
    });
    response.on('error', () => end(false));
    // cut off in the middle is not an answer either
    response.on('close', () => end(response.complete && body.trim() === name));
  });
  request.end();
}
