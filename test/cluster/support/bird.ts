/**
 * BIRD as the router of a cluster's nodes: who dials from the range is a neighbour, so agents come and go as they like. It is asked on its control
 * socket, kept open: a fraction of a millisecond each. Its table is the truth about what a router makes of our routes; for the
 * moment of their arrival take receiving-router.ts, which does not need to be asked.
 */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import { BirdControl } from '../../bench/bird-control.ts';
import type { Host } from '../../support/netns.ts';
import { done, until } from '../../support/poll.ts';
import { Running } from '../../support/process.ts';
import { freePorts } from './servers.ts';

export interface BirdOptions {
  /** where its files go; `cluster.folder` */
  readonly folder: string;
  /** default 127.0.0.1, with a free port */
  readonly address?: string;
  readonly port?: number;
  /** default 64500 */
  readonly asn?: number;
  /** of the neighbours; default any other than its own */
  readonly neighbourAsn?: number;
  /** default 127.0.0.0/8 */
  readonly range?: string;
  /** default 9, as Herald's own */
  readonly holdSeconds?: number;
  readonly password?: string;
  /** whether it keeps the routes of a neighbour that restarts (RFC 4724); default true */
  readonly keepsRestarting?: boolean;
  readonly host?: Host;
  /** default 192.0.2.254 */
  readonly routerId?: string;
  /** more of its configuration, e.g. a router above it */
  readonly more?: string;
}

export interface BirdRoute {
  readonly prefix: string;
  /** the neighbour that announced it */
  readonly from: string;
  /** when this path last changed, in BIRD's words */
  readonly since: string;
  readonly isBest: boolean;
  readonly nextHop: string;
  readonly med?: number;
  readonly localPref?: number;
  readonly asPath: string;
  /** `65535:0` */
  readonly communities: readonly string[];
}

export async function startBird(options: BirdOptions): Promise<BirdRouter> {
  const [free = 0] = await freePorts(1);
  const folder = mkdtempSync(join(options.folder, 'bird-'));
  const bird = new BirdRouter(folder, { ...options, port: options.port ?? free });
  await bird.start();
  return bird;
}

export class BirdRouter {
  readonly address: string;
  readonly port: number;
  readonly asn: number;
  readonly #folder: string;
  readonly #options: BirdOptions & { readonly port: number };
  #running: Running | undefined;
  #control: BirdControl | undefined;
  #asking: Promise<unknown> = Promise.resolve();

  constructor(folder: string, options: BirdOptions & { readonly port: number }) {
    this.#folder = folder;
    this.#options = options;
    this.address = options.address ?? '127.0.0.1';
    this.port = options.port;
    this.asn = options.asn ?? 64_500;
  }

  async start(): Promise<void> {
    const file = (name: string) => join(this.#folder, name);
    writeFileSync(file('bird.conf'), configuration(this.#options, this));
    const args = ['-f', '-c', file('bird.conf'), '-s', file('bird.ctl'), '-P', file('bird.pid')];
    const own = ['setpriv', '--pdeathsig', 'KILL', 'bird', ...args];
    const { host } = this.#options;
    const argv = host?.argv('setpriv', own.slice(1)) ?? own;
    const running = new Running(argv, file('bird.log'));
    this.#running = running;
    this.#control = await until('BIRD answers', async () => {
      if (!running.isRunning) throw new Error(`BIRD ended: ${running.log()}`);
      return done(await BirdControl.open(file('bird.ctl')));
    });
  }

  /** Every path in its tables, or those of one prefix. */
  async routes(prefix?: string): Promise<BirdRoute[]> {
    const lines = await this.#ask(`show route ${prefix === undefined ? '' : `${prefix} `}all`);
    return parseRoutes(lines);
  }

  /** Whether anybody announces it. */
  async has(prefix: string): Promise<boolean> {
    return (await this.#ask(`show route ${prefix}`)).some((line) => line.includes(`${prefix} `));
  }

  /** Paths in both tables. */
  async count(): Promise<number> {
    const text = (await this.#ask('show route count')).join('\n');
    // one line per table, and a sum where there are several
    const counts = text.matchAll(/(\d+) of \d+ routes .* in table/g);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Addresses of neighbours whose session is up. */
  async established(): Promise<string[]> {
    const blocks = (await this.#ask('show protocols all')).join('\n').split(/^(?=\S)/m);
    return blocks
      .filter((block) => /BGP state: +Established/.test(block))
      .map((block) => /Neighbor address: (\S+)/.exec(block)?.[1] ?? '')
      .filter((address) => address !== '')
      .sort();
  }

  /** When `question` was answered yes, on the monotonic clock; asked every millisecond, without spinning. */
  async moment(what: string, question: () => Promise<boolean>, withinMs = 30_000): Promise<number> {
    const started = nowMs();
    for (;;) {
      if (await question()) return nowMs();
      if (nowMs() - started > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
      await delay(1);
    }
  }

  freeze(): void {
    this.#running?.freeze();
  }

  thaw(): void {
    this.#running?.thaw();
  }

  /** As an operator stops it: neighbours are told. `start` brings it back on the same port. */
  async stop(): Promise<void> {
    this.#control?.close();
    await this.#running?.stop();
  }

  async kill(): Promise<void> {
    this.#control?.close();
    await this.#running?.kill();
  }

  log(): string {
    return this.#running?.log() ?? '';
  }

  async #ask(command: string): Promise<string[]> {
    const control = this.#control;
    if (control === undefined) throw new Error('BIRD was never started');
    // one at a time: a sampler may be asking while a test does
    const answer = this.#asking.then(() => control.ask(command));
    this.#asking = answer.catch(() => undefined);
    const lines = await answer;
    // four digits and a sign open the first line of each kind, a space the others
    return lines.map((line) => line.replace(/^(\d{4}[ -]| )/, ''));
  }
}

function configuration(options: BirdOptions, { address, port, asn }: BirdRouter): string {
  const { range = '127.0.0.0/8', holdSeconds = 9, keepsRestarting = true } = options;
  const neighbours = options.neighbourAsn === undefined ? 'external' : `as ${options.neighbourAsn}`;
  const password = options.password === undefined ? '' : `password "${options.password}";`;
  return `log stderr all;
timeformat protocol iso long ms;
timeformat route iso long ms;
router id ${options.routerId ?? '192.0.2.254'};
protocol device { scan time 3600; }
protocol bgp nodes {
  local ${address} port ${port} as ${asn};
  neighbor range ${range} ${neighbours};
  dynamic name "node";
  multihop; passive yes; ${password}
  hold time ${holdSeconds}; connect delay time 1; error wait time 1, 1; error forget time 1;
  graceful restart ${keepsRestarting ? 'aware' : 'off'};
  ipv4 { import all; export none; };
  ipv6 { import all; export none; };
}
${options.more ?? ''}
`;
}

/** One block per path: a header with its neighbour, then attributes; a further path of a prefix leaves the first column empty. */
export function parseRoutes(lines: readonly string[]): BirdRoute[] {
  const text = lines.join('\n');
  const routes: BirdRoute[] = [];
  let prefix = '';
  for (const block of text.split(/^(?=\S+ +\w+ \[| +\w+ \[)/m)) {
    const header = /^(\S*) +\w+ \[\S+ ([^\]]*?) from ([^\]]+)\]/.exec(block);
    if (header === null) continue;
    const [, first = '', since = '', from = ''] = header;
    prefix = first === '' ? prefix : first;
    routes.push(parseRoute({ prefix, since, from }, block));
  }
  return routes;
}

function parseRoute(head: Pick<BirdRoute, 'prefix' | 'since' | 'from'>, block: string): BirdRoute {
  const attribute = (name: string) => new RegExp(`BGP\\.${name}: (.*)`).exec(block)?.[1];
  const [med, localPref] = [attribute('med'), attribute('local_pref')];
  const [firstLine = ''] = block.split('\n');
  const communities = [...(attribute('community') ?? '').matchAll(/\((\d+), ?(\d+)\)/g)];
  return {
    ...head,
    isBest: / \* /.test(firstLine),
    nextHop: attribute('next_hop') ?? '',
    ...(med === undefined ? {} : { med: Number(med) }),
    ...(localPref === undefined ? {} : { localPref: Number(localPref) }),
    asPath: attribute('as_path') ?? '',
    communities: communities.map(([, high, low]) => `${high}:${low}`),
  };
}
