/**
 * The router in front of the masters: a real BIRD or FRR that puts what it learns into the kernel as one multipath route, as a
 * top-of-rack switch does. Both tables are read: the daemon's own (who announces) and the kernel's (where packets go). It runs
 * what `herald manifest router` prints for the very documents that the masters have, see `renderEdge`.
 */

import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { communityOf } from '../../interop/routers/community.ts';
import { Daemons, writeConfig } from '../../interop/routers/daemon.ts';
import {
  entries,
  field,
  items,
  optionalNumber,
  parseJson,
  text,
} from '../../interop/routers/json.ts';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { heraldProgram } from './herald-program.ts';

export type EdgeKind = 'bird' | 'frr';
export const edgeKinds: readonly EdgeKind[] = ['bird', 'frr'];

export type EdgeConfig = {
  /** The folder of the masters' documents. */
  readonly documents: string;
  readonly neighbourAsn: number;
  readonly routerId: string;
  readonly neighbours: readonly string[];
  /** Whether BIRD takes a neighbour back a second after every error, see `renderEdge`. */
  readonly isForgiving?: boolean;
};

export interface EdgeRouter {
  readonly kind: EdgeKind;
  start(): Promise<void>;
  /** As an operator stops it: the neighbours are told. */
  stop(): Promise<void>;
  readonly isRunning: boolean;
  /** Neighbours whose session is established, with the age of the session where the router tells. */
  established(): Promise<ReadonlyMap<string, number | undefined>>;
  /** Neighbours that announce the prefix, by the daemon's own table. */
  announcers(prefix: string): Promise<string[]>;
  /** Those among them that announce it with GRACEFUL_SHUTDOWN. */
  leaving(prefix: string): Promise<string[]>;
  log(): string;
}

const frrPrograms = '/usr/lib/frr';

export function createEdge(kind: EdgeKind, host: Host, config: EdgeConfig): EdgeRouter {
  // Written once: a router that restarts finds its file.
  let rendered: Promise<string> | undefined;
  const text = () => {
    rendered ??= renderEdge(kind, config);
    return rendered;
  };
  return kind === 'bird' ? new BirdEdge(host, text) : new FrrEdge(host, text);
}

/** The gateways of a route in the kernel of a host; what the interface's own state rules out is left out. */
export async function kernelNextHops(host: Host, prefix: string): Promise<string[]> {
  const show = ['-netns', host.namespace, '-json', 'route', 'show', prefix];
  const routes = items(parseJson((await run('ip', show)).stdout || '[]'));
  const hops = routes.flatMap((route) => {
    const several = items(field(route, 'nexthops'));
    return several.length > 0 ? several : [route];
  });
  const isDead = (hop: unknown) => items(field(hop, 'flags')).includes('dead');
  return hops
    .filter((hop) => !isDead(hop))
    .map((hop) => text(field(hop, 'gateway')))
    .sort();
}

class BirdEdge implements EdgeRouter {
  readonly kind = 'bird';
  readonly #host: Host;
  readonly #text: () => Promise<string>;
  readonly #daemons = new Daemons();
  isRunning = false;

  constructor(host: Host, text: () => Promise<string>) {
    this.#host = host;
    this.#text = text;
  }

  async start(): Promise<void> {
    const path = writeConfig(this.#host, 'bird.conf', await this.#text());
    const pid = ['-P', join(this.#host.folder, 'bird.pid')];
    // The configuration logs to syslog, which nobody reads here; -d adds the terminal.
    const args = ['-d', '-f', '-c', path, '-s', this.#socket(), ...pid];
    this.#daemons.start(this.#host, { name: 'bird', command: 'bird', args });
    this.isRunning = true;
    const answers = async () => {
      this.#daemons.assertRunning();
      return done(await this.#ask('show status'));
    };
    await until('birdc answers', answers, { everyMs: 20 });
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    await this.#daemons.stop();
  }

  async established(): Promise<Map<string, number | undefined>> {
    const blocks = (await this.#ask('show protocols all')).split(/^(?=\S)/m);
    const up = new Map<string, number | undefined>();
    for (const block of blocks) {
      const address = /Neighbor address: (\S+)/.exec(block)?.[1];
      const since = / up +([\d:. -]+?) +Established/.exec(block)?.[1];
      if (address !== undefined && since !== undefined) up.set(address, ageMs(since));
    }
    return up;
  }

  async announcers(prefix: string): Promise<string[]> {
    const output = await this.#ask(`show route ${prefix} all`);
    return [...output.matchAll(/BGP\.next_hop: (\S+)/g)].map((match) => match[1] ?? '').sort();
  }

  async leaving(prefix: string): Promise<string[]> {
    const output = await this.#ask(`show route ${prefix} all`);
    const paths = [...output.matchAll(/BGP\.next_hop: (\S+)([^[]*)/g)];
    return paths.filter((path) => /\(65535, ?0\)/.test(path[2] ?? '')).map((path) => path[1] ?? '');
  }

  log(): string {
    return this.#daemons.log();
  }

  #socket(): string {
    return join(this.#host.folder, 'bird.ctl');
  }

  async #ask(command: string): Promise<string> {
    const options = { anyStatus: true };
    const { stdout, status } = await run('birdc', ['-s', this.#socket(), command], options);
    // A prefix that nobody announces is an answer, though birdc ends with 1.
    if (status !== 0 && !/Network not found/.test(stdout)) throw new Error(`birdc: ${stdout}`);
    return stdout;
  }
}

class FrrEdge implements EdgeRouter {
  readonly kind = 'frr';
  readonly #host: Host;
  readonly #text: () => Promise<string>;
  readonly #daemons = new Daemons();
  isRunning = false;

  constructor(host: Host, text: () => Promise<string>) {
    this.#host = host;
    this.#text = text;
  }

  async start(): Promise<void> {
    const sockets = this.#sockets();
    rmSync(sockets, { recursive: true, force: true });
    mkdirSync(sockets);
    // zebra makes its sockets here as user frr.
    chmodSync(sockets, 0o777);
    const zserv = join(sockets, 'zserv.api');
    const common = ['--vty_socket', sockets, '-z', zserv, '-P', '0', '--log', 'stdout'];
    // as vtysh does it with the one file of all daemons: each line goes to those that it concerns
    const lines = (await this.#text()).split('\n');
    const ofZebra = (line: string) => /^(no )?zebra /.test(line);
    const kernel = writeConfig(this.#host, 'zebra.conf', `${lines.filter(ofZebra).join('\n')}\n`);
    chmodSync(kernel, 0o644);
    const zebra = [...common, '-f', kernel, '-i', join(sockets, 'zebra.pid')];
    this.#daemons.start(this.#host, {
      name: 'zebra',
      command: `${frrPrograms}/zebra`,
      args: zebra,
    });
    this.isRunning = true;
    const listens = () => {
      this.#daemons.assertRunning();
      return existsSync(zserv) ? done(true) : notYet('no socket');
    };
    await until('zebra listens', listens, { everyMs: 20 });
    const rest = lines.filter((line) => !ofZebra(line)).join('\n');
    const path = writeConfig(this.#host, 'bgpd.conf', rest);
    const bgpd = [...common, '-S', '-f', path, '-i', join(sockets, 'bgpd.pid')];
    this.#daemons.start(this.#host, { name: 'bgpd', command: `${frrPrograms}/bgpd`, args: bgpd });
    const answers = async () => {
      this.#daemons.assertRunning();
      const seen = entries(await this.#json('show bgp neighbors json')).length;
      return seen > 0 ? done(true) : notYet(seen);
    };
    await until('vtysh answers for bgpd', answers, { everyMs: 20 });
  }

  async stop(): Promise<void> {
    this.isRunning = false;
    await this.#daemons.stop();
  }

  async established(): Promise<Map<string, number | undefined>> {
    const neighbours = entries(await this.#json('show bgp neighbors json'));
    const up = neighbours.filter(([, value]) => field(value, 'bgpState') === 'Established');
    return new Map(
      up.map(([peer, value]) => [peer, optionalNumber(field(value, 'bgpTimerUpMsec'))]),
    );
  }

  async announcers(prefix: string): Promise<string[]> {
    return (await this.#paths(prefix)).map((path) => text(field(path, 'peer', 'peerId'))).sort();
  }

  async leaving(prefix: string): Promise<string[]> {
    const isLeaving = (path: unknown) =>
      items(field(path, 'community', 'list'))
        .map(text)
        .map(communityOf)
        .includes('65535:0');
    const paths = (await this.#paths(prefix)).filter(isLeaving);
    return paths.map((path) => text(field(path, 'peer', 'peerId')));
  }

  async #paths(prefix: string): Promise<unknown[]> {
    const answer = await this.#json(`show bgp ipv4 unicast ${prefix} json`);
    return items(field(answer, 'paths')).filter((path) => field(path, 'valid') === true);
  }

  log(): string {
    return this.#daemons.log();
  }

  #sockets(): string {
    return join(this.#host.folder, 'frr');
  }

  async #json(command: string): Promise<unknown> {
    const { stdout } = await run('vtysh', ['--vty_socket', this.#sockets(), '-c', command]);
    return parseJson(stdout);
  }
}

/**
 * What `herald manifest router` prints for this router. It is meant for one address on one network, and BIRD names it; here every
 * master has a port of its own, so that word goes. And BIRD's `error wait time` doubles from one error to the next, up to 15 s: a
 * test that makes ten of them in a row would do little but wait for the way back, and asks for a shorter one.
 */
export async function renderEdge(kind: EdgeKind, config: EdgeConfig): Promise<string> {
  const neighbours = config.neighbours.flatMap((address) => ['--neighbor', address]);
  const asn = ['--asn', String(config.neighbourAsn), '--router-id', config.routerId];
  const source = ['--source', `files:${config.documents}`, ...asn, ...neighbours];
  const { stdout } = await run(heraldProgram(), ['manifest', 'router', '--for', kind, ...source]);
  if (kind === 'frr') return stdout;
  const anywhere = replaceOne(stdout, /^ *local \S+ as /m, '  local as ');
  if (config.isForgiving !== true) return anywhere;
  return replaceOne(anywhere, /^ *error wait time [^;]*;/m, '  error wait time 1, 1;');
}

function replaceOne(config: string, pattern: RegExp, by: string): string {
  if (!pattern.test(config)) throw new Error(`no ${pattern} in the configuration:\n${config}`);
  return config.replace(pattern, by);
}

/** BIRD shows a time of the last twenty hours as 12:34:56.789, an older one by its date; both in this machine's time zone, as Date reads them. */
function ageMs(since: string): number {
  const today = new Date().toDateString();
  const moment = since.includes(' ') ? since.replace(' ', 'T') : `${today} ${since}`;
  const age = Date.now() - new Date(moment).getTime();
  // it was yesterday
  return age < -60_000 ? age + 86_400_000 : age;
}
