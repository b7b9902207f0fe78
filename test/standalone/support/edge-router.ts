/**
 * The router in front of the masters: a real BIRD or FRR that puts what it learns into the kernel as one multipath route, as a
 * top-of-rack switch does. Both tables are read: the daemon's own (who announces) and the kernel's (where packets go). Its
 * configuration comes from one function, `renderEdge`, and nothing else here knows its text.
 */

import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { communityOf } from '../../interop/routers/community.ts';
import { Daemons, lines, writeConfig } from '../../interop/routers/daemon.ts';
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

export type EdgeKind = 'bird' | 'frr';
export const edgeKinds: readonly EdgeKind[] = ['bird', 'frr'];

export type EdgeNeighbour = { readonly address: string; readonly localAddress: string };

export type EdgeConfig = {
  readonly asn: number;
  readonly neighbourAsn: number;
  readonly routerId: string;
  readonly neighbours: readonly EdgeNeighbour[];
  /** Host routes inside these are accepted, nothing else. */
  readonly prefixes: readonly string[];
  readonly holdSeconds: number;
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
  return kind === 'bird' ? new BirdEdge(host, config) : new FrrEdge(host, config);
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
  readonly #config: EdgeConfig;
  readonly #daemons = new Daemons();
  isRunning = false;

  constructor(host: Host, config: EdgeConfig) {
    this.#host = host;
    this.#config = config;
  }

  async start(): Promise<void> {
    const path = writeConfig(this.#host, 'bird.conf', renderEdge('bird', this.#config));
    const pid = ['-P', join(this.#host.folder, 'bird.pid')];
    const args = ['-f', '-c', path, '-s', this.#socket(), ...pid];
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
    const output = await this.#ask('show protocols');
    const up = new Map<string, number | undefined>();
    for (const [, index, since] of output.matchAll(/^n(\d+) +BGP .* up +(.+?) +Established/gm)) {
      const neighbour = this.#config.neighbours[Number(index)];
      // Written in this machine's time zone without its name, which is how Date reads such a text.
      const age = Date.now() - new Date((since ?? '').replace(' ', 'T')).getTime();
      if (neighbour !== undefined) up.set(neighbour.address, age);
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
    const { stdout } = await run('birdc', ['-s', this.#socket(), command]);
    return stdout;
  }
}

class FrrEdge implements EdgeRouter {
  readonly kind = 'frr';
  readonly #host: Host;
  readonly #config: EdgeConfig;
  readonly #daemons = new Daemons();
  isRunning = false;

  constructor(host: Host, config: EdgeConfig) {
    this.#host = host;
    this.#config = config;
  }

  async start(): Promise<void> {
    const sockets = this.#sockets();
    rmSync(sockets, { recursive: true, force: true });
    mkdirSync(sockets);
    // zebra makes its sockets here as user frr.
    chmodSync(sockets, 0o777);
    const zserv = join(sockets, 'zserv.api');
    const common = ['--vty_socket', sockets, '-z', zserv, '-P', '0', '--log', 'stdout'];
    const kernel = writeConfig(this.#host, 'zebra.conf', zebraConfig);
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
    const path = writeConfig(this.#host, 'bgpd.conf', renderEdge('frr', this.#config));
    const bgpd = [...common, '-S', '-f', path, '-i', join(sockets, 'bgpd.pid')];
    this.#daemons.start(this.#host, { name: 'bgpd', command: `${frrPrograms}/bgpd`, args: bgpd });
    const answers = async () => {
      this.#daemons.assertRunning();
      const seen = entries(await this.#json('show bgp neighbors json')).length;
      return seen >= this.#config.neighbours.length ? done(true) : notYet(seen);
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
 * zebra 8.4.4 keeps a next-hop group for 180 s after its last use. When a link loses its carrier the kernel takes that way out of
 * the group; the link comes back, zebra uses the group again as if it were whole, and the way stays missing from the kernel while
 * every table of FRR shows it (measured). Plain multipath routes do not have that.
 */
const zebraConfig = 'no zebra nexthop kernel enable\n';

/** The configuration file of either router for these neighbours. */
export function renderEdge(kind: EdgeKind, config: EdgeConfig): string {
  return kind === 'bird' ? renderBird(config) : renderFrr(config);
}

function renderBird(config: EdgeConfig): string {
  const prefixes = config.prefixes.map((prefix) => `${prefix}{32,32}`).join(', ');
  return lines(
    'log stderr all;',
    'timeformat protocol iso long ms;',
    `router id ${config.routerId};`,
    'protocol device { scan time 5; }',
    'protocol kernel {',
    '  ipv4 { import none; export where source = RTS_BGP; };',
    '  merge paths on;',
    '}',
    'filter from_nodes {',
    `  if net !~ [ ${prefixes} ] then reject;`,
    // RFC 8326: BIRD gives the community no meaning of its own.
    '  if (65535, 0) ~ bgp_community then bgp_local_pref = 0;',
    '  accept;',
    '}',
    ...config.neighbours.map((neighbour, index) =>
      lines(
        `protocol bgp n${index} {`,
        `  local ${neighbour.localAddress} as ${config.asn};`,
        `  neighbor ${neighbour.address} as ${config.neighbourAsn};`,
        '  direct;',
        '  passive on;',
        `  hold time ${config.holdSeconds};`,
        // After an error BIRD otherwise waits for a minute and more before it takes a call again.
        '  error wait time 1, 1;',
        '  error forget time 1;',
        '  ipv4 { import filter from_nodes; export none; import limit 100 action restart; };',
        '}',
      ),
    ),
    '',
  );
}

function renderFrr(config: EdgeConfig): string {
  const hold = config.holdSeconds;
  return lines(
    'hostname edge',
    'log timestamp precision 3',
    ...config.prefixes.map((prefix) => `ip prefix-list nodes permit ${prefix} ge 32`),
    'route-map from-nodes permit 10',
    ' match ip address prefix-list nodes',
    'exit',
    'route-map to-nodes deny 10',
    'exit',
    `router bgp ${config.asn}`,
    ` bgp router-id ${config.routerId}`,
    ' no bgp default ipv4-unicast',
    ' neighbor nodes peer-group',
    ` neighbor nodes remote-as ${config.neighbourAsn}`,
    ' neighbor nodes passive',
    ` neighbor nodes timers ${Math.floor(hold / 3)} ${hold}`,
    ...config.neighbours.flatMap((neighbour) => [
      ` neighbor ${neighbour.address} peer-group nodes`,
      ` neighbor ${neighbour.address} update-source ${neighbour.localAddress}`,
    ]),
    ' address-family ipv4 unicast',
    '  neighbor nodes activate',
    '  neighbor nodes route-map from-nodes in',
    '  neighbor nodes route-map to-nodes out',
    '  neighbor nodes maximum-prefix 100',
    '  maximum-paths 16',
    ' exit-address-family',
    '',
  );
}
