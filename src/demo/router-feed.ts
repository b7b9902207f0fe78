/**
 * The router's table as the router tells it: `GET /events` of `herald router`, one snapshot and then every change. This is what the
 * story is judged by and what requests are sent by.
 */

import { request as httpRequest } from 'node:http';
import type { NextHopView, PeerView, RouteView } from '../router/events.ts';
import { type Member, memberByAddress, PREFIX } from './cast.ts';

export interface RouterFeedOptions {
  readonly host: string;
  readonly port: number;
  readonly onChange: () => void;
  /** the router is gone */
  readonly onEnd: (reason: string) => void;
}

/** The parts of the router's events that are read here. */
interface FeedData {
  readonly routes?: readonly RouteView[];
  readonly peers?: readonly PeerView[];
  readonly peer?: string;
}

export class RouterFeed {
  readonly #options: RouterFeedOptions;
  readonly #abort = new AbortController();
  readonly #sessions = new Set<string>();
  #nextHops: readonly NextHopView[] = [];
  #pending = '';

  constructor(options: RouterFeedOptions) {
    this.#options = options;
  }

  start(): void {
    const { host, port, onEnd } = this.#options;
    const end = (reason: string) => {
      if (!this.#abort.signal.aborted) onEnd(reason);
    };
    const request = httpRequest({
      host,
      port,
      path: '/events',
      agent: false,
      signal: this.#abort.signal,
    });
    request.on('error', (error) => end(`the router does not answer: ${error.message}`));
    request.on('response', (response) => {
      response.setEncoding('utf8').on('data', (text: string) => this.#read(text));
      response.on('error', () => undefined);
      response.on('close', () => end('the router has ended'));
    });
    request.end();
  }

  stop(): void {
    this.#abort.abort();
  }

  /** whose session it calls established */
  sessions(): readonly Member[] {
    return members([...this.#sessions]);
  }

  used(): readonly Member[] {
    return members(this.#nextHops.filter(({ best }) => best).map(({ address }) => address));
  }

  known(): readonly Member[] {
    return members(this.#nextHops.map(({ address }) => address));
  }

  #read(text: string): void {
    const frames = (this.#pending + text).split('\n\n');
    this.#pending = frames.pop() ?? '';
    for (const frame of frames) this.#readFrame(frame);
  }

  #readFrame(frame: string): void {
    const field = (name: string) =>
      frame
        .split('\n')
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2);
    const event = field('event');
    const data = field('data');
    if (event === undefined || data === undefined) return;
    const parsed: FeedData = JSON.parse(data);
    this.#take(event, parsed);
    this.#options.onChange();
  }

  #take(event: string, { routes = [], peers = [], peer = '' }: FeedData): void {
    if (event === 'peer-up') this.#sessions.add(peer);
    if (event === 'peer-down') this.#sessions.delete(peer);
    if (event === 'snapshot') {
      this.#nextHops = [];
      for (const each of peers) if (each.state === 'established') this.#sessions.add(each.peer);
    }
    for (const { prefix, nextHops } of routes) if (prefix === PREFIX) this.#nextHops = nextHops;
  }
}

function members(addresses: readonly string[]): readonly Member[] {
  const found = addresses.flatMap((address) => memberByAddress(address) ?? []);
  return found.toSorted((a, b) => a.id - b.id);
}
