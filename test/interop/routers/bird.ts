/**
 * BIRD 2: `bird -f` with a control socket, read through birdc's text output (BIRD has no JSON).
 *
 * Traits: its hold timer fires 1.5 to 3 s late by design; after an error it waits a minute and more unless
 * `error wait time` is set, so it is; MED counts only when the export filter sets it. BIRD does not mark routes that it
 * keeps for a restarting neighbour, but it says so of the session, and that is what `isStale` shows.
 */

import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { done, until } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { extendedCommunityOfHex } from './community.ts';
import { Daemons, lines, writeConfig } from './daemon.ts';
import {
  type Announcement,
  asPathOf,
  bgpPort,
  type Family,
  familyOf,
  type Neighbour,
  originOf,
  type ReceivedNotification,
  type Route,
  type Router,
  type RouterConfig,
  type Session,
  sessionState,
} from './router.ts';

const families: readonly Family[] = ['ipv4', 'ipv6'];

export class Bird implements Router {
  readonly kind = 'bird';
  readonly limits = { 'shows-path-id': 'birdc 2.0.12 shows no path identifier' };
  readonly #daemons = new Daemons();
  #host: Host | undefined;
  #config: RouterConfig | undefined;
  #socket = '';

  async version(): Promise<string> {
    const { stdout, stderr } = await run('bird', ['--version']);
    return `${stdout}${stderr}`.trim().replace(' version', '');
  }

  async start(host: Host, config: RouterConfig): Promise<void> {
    this.#host = host;
    this.#config = config;
    this.#socket = join(host.folder, 'bird.ctl');
    const path = writeConfig(host, 'bird.conf', renderBird(config));
    const args = ['-f', '-c', path, '-s', this.#socket, '-P', join(host.folder, 'bird.pid')];
    this.#daemons.start(host, { name: 'bird', command: 'bird', args });
    await until('birdc answers', async () => {
      this.#daemons.assertRunning();
      return done(await this.#ask('show status'));
    });
  }

  stop(): Promise<void> {
    return this.#daemons.stop();
  }

  kill(): Promise<void> {
    return this.#daemons.kill();
  }

  freeze(): void {
    this.#daemons.freeze();
  }

  thaw(): void {
    this.#daemons.thaw();
  }

  async restart(): Promise<void> {
    await this.stop();
    if (this.#host === undefined) throw new Error('the router was never started');
    await this.start(this.#host, this.#running());
  }

  async sessions(): Promise<Session[]> {
    return (await this.#protocols()).map((protocol) => ({
      peer: protocol.peer,
      state: protocol.state,
      ...(protocol.since === undefined ? {} : { since: protocol.since }),
      ...(protocol.lastError === undefined ? {} : { lastError: protocol.lastError }),
    }));
  }

  async routes(family: Family): Promise<Route[]> {
    const restarting = new Set(
      (await this.#protocols()).filter((each) => each.isRestarting).map((each) => each.peer),
    );
    const output = await this.#ask(`show route table master${family === 'ipv4' ? 4 : 6} all`);
    const neighbours = this.#running().neighbours;
    return parseBirdRoutes(output, neighbours).map((route) =>
      restarting.has(route.peer) ? { ...route, isStale: true } : route,
    );
  }

  async count(family: Family): Promise<number> {
    const table = family === 'ipv4' ? 'master4' : 'master6';
    const output = await this.#ask(`show route where source = RTS_BGP table ${table} count`);
    return Number(/^(\d+) of \d+ routes/m.exec(output)?.[1] ?? 0);
  }

  async refresh(peer: string): Promise<void> {
    await this.#ask(`reload in ${this.#name(peer)}`);
  }

  async shutdown(peer: string, text: string): Promise<string> {
    await this.#ask(`disable ${this.#name(peer)} "${text}"`);
    return text;
  }

  async enable(peer: string): Promise<void> {
    await this.#ask(`enable ${this.#name(peer)}`);
  }

  async lastNotification(peer: string): Promise<ReceivedNotification | undefined> {
    const protocol = (await this.#protocols()).find((each) => each.peer === peer);
    const error = protocol?.lastError;
    const text = protocol?.message === undefined ? {} : { text: protocol.message };
    if (error?.startsWith('Received: ') === true) {
      return { shown: error.slice('Received: '.length), ...text };
    }
    // Once the session is up again BIRD forgets the error and keeps the text.
    return 'text' in text ? { shown: text.text, ...text } : undefined;
  }

  log(): string {
    return this.#daemons.log();
  }

  async #ask(command: string): Promise<string> {
    const { stdout } = await run('birdc', ['-v', '-s', this.#socket, command]);
    // With -v every line opens with a reply code, or five spaces for the same one; 8xxx and 9xxx are refusals.
    const refused = /^[89]\d{3}[ -](.*)$/m.exec(stdout);
    if (refused !== null) throw new Error(`birdc ${command}: ${refused[1]}`);
    return stdout.replaceAll(/^(\d{4}[ -]| {5})/gm, '');
  }

  async #protocols(): Promise<Protocol[]> {
    const output = await this.#ask('show protocols all');
    return parseBirdProtocols(output, this.#running().neighbours);
  }

  #running(): RouterConfig {
    if (this.#config === undefined) throw new Error('the router was never started');
    return this.#config;
  }

  #name(peer: string): string {
    const index = this.#running().neighbours.findIndex((each) => each.address === peer);
    if (index < 0) throw new Error(`no neighbour ${peer} is configured`);
    return `n${index}`;
  }
}

type Protocol = {
  readonly peer: string;
  readonly state: Session['state'];
  readonly since?: string;
  readonly lastError?: string;
  readonly message?: string;
  readonly isRestarting: boolean;
};

export function parseBirdProtocols(output: string, neighbours: readonly Neighbour[]): Protocol[] {
  const blocks = output.split(/^(?=\S)/m).filter((block) => /^n\d+ +BGP /.test(block));
  return blocks.map((block) => {
    const index = Number(/^n(\d+)/.exec(block)?.[1]);
    const since = /^n\d+ +BGP +\S+ +\S+ +(\d\S+ \S+)/.exec(block)?.[1];
    const lastError = /Last error: +(.+)/.exec(block)?.[1];
    const message = /^ *Message: +(.+)/m.exec(block)?.[1];
    const said = message === undefined ? lastError : `${lastError}: ${message}`;
    return {
      peer: neighbours[index]?.address ?? '',
      state: sessionState(/BGP state: +(\S+)/.exec(block)?.[1] ?? 'idle'),
      ...(since === undefined ? {} : { since }),
      ...(said === undefined ? {} : { lastError: said }),
      ...(message === undefined ? {} : { message }),
      isRestarting: /graceful restart active/.test(block),
    };
  });
}

const pathHeader = /^(\S*) +\S+ \[n(\d+) /;

export function parseBirdRoutes(output: string, neighbours: readonly Neighbour[]): Route[] {
  const routes: Route[] = [];
  let prefix = '';
  // A further path of the same prefix leaves the first column empty, so a block starts at any "[name time".
  for (const block of output.split(/^(?=\S+ +\w+ \[| {10,}\w+ \[)/m)) {
    prefix = /^(\S+)/.exec(block)?.[1] ?? prefix;
    const header = pathHeader.exec(block);
    if (header === null) continue;
    routes.push(parseBirdRoute(block, prefix, neighbours[Number(header[2])]?.address ?? ''));
  }
  return routes;
}

function parseBirdRoute(block: string, prefix: string, peer: string): Route {
  const attribute = (name: string) => new RegExp(`BGP\\.${name}: (.*)`).exec(block)?.[1];
  const tuples = (name: string) =>
    [...(attribute(name) ?? '').matchAll(/\(([^)]*)\)/g)].map((match) => match[1] ?? '');
  const colons = (tuple: string) => tuple.split(/, ?/).join(':');
  const [med, localPref] = [attribute('med'), attribute('local_pref')];
  return {
    prefix,
    nextHops: (attribute('next_hop') ?? '').split(' ').filter((hop) => hop !== ''),
    asPath: asPathOf(attribute('as_path') ?? ''),
    origin: originOf(attribute('origin') ?? ''),
    ...(med === undefined ? {} : { med: Number(med) }),
    ...(localPref === undefined ? {} : { localPref: Number(localPref) }),
    communities: tuples('community').map(colons),
    largeCommunities: tuples('large_community').map(colons),
    extendedCommunities: tuples('ext_community').map(birdExtendedCommunity),
    peer,
  };
}

/** `rt, 65000, 1`, `generic, 0x43000000, 0x1` or `unknown 0x4, 65000, 1290693416`. */
function birdExtendedCommunity(tuple: string): string {
  const [kind = '', high = '', low = ''] = tuple.split(/, ?/);
  const hex = (value: string, digits: number) => Number(value).toString(16).padStart(digits, '0');
  if (kind === 'rt') return `rt:${high}:${low}`;
  if (kind === 'ro') return `soo:${high}:${low}`;
  if (kind === 'generic') return extendedCommunityOfHex(`${hex(high, 8)}${hex(low, 8)}`);
  const type = kind.replace('unknown ', '');
  return extendedCommunityOfHex(`${hex(type, 4)}${hex(high, 4)}${hex(low, 8)}`);
}

export function renderBird(config: RouterConfig): string {
  return lines(
    'log stderr all;',
    'timeformat protocol iso long ms;',
    'timeformat route iso long ms;',
    `router id ${config.routerId};`,
    'protocol device {}',
    ...families.flatMap((family) => renderAnnouncements(family, config.announce ?? [])),
    ...config.neighbours.map((neighbour, index) => renderNeighbour(config, neighbour, index)),
    '',
  );
}

function renderAnnouncements(family: Family, all: readonly Announcement[]): string[] {
  const announcements = all.filter((each) => familyOf(each.prefix) === family);
  return [
    `protocol static announce_${family} {`,
    `  ${family};`,
    ...announcements.map((each) => `  route ${each.prefix} blackhole;`),
    '}',
    `filter export_${family} {`,
    `  if proto != "announce_${family}" then reject;`,
    ...announcements.map((each) => `  if net = ${each.prefix} then { ${attributesOf(each)} }`),
    '  accept;',
    '}',
  ];
}

function attributesOf(announcement: Announcement): string {
  const tuple = (value: string) => `(${value.split(':').join(',')})`;
  const extended = (value: string) =>
    value.startsWith('0x')
      ? `(generic,0x${value.slice(2, 10)},0x${value.slice(10, 18)})`
      : tuple(value);
  const { med, localPref } = announcement;
  return [
    ...(med === undefined ? [] : [`bgp_med = ${med};`]),
    ...(localPref === undefined ? [] : [`bgp_local_pref = ${localPref};`]),
    ...(announcement.prepend ?? []).toReversed().map((asn) => `bgp_path.prepend(${asn});`),
    ...(announcement.communities ?? []).map((each) => `bgp_community.add(${tuple(each)});`),
    ...(announcement.largeCommunities ?? []).map((e) => `bgp_large_community.add(${tuple(e)});`),
    ...(announcement.extendedCommunities ?? []).map(
      (e) => `bgp_ext_community.add(${extended(e)});`,
    ),
  ].join(' ');
}

function renderNeighbour(config: RouterConfig, neighbour: Neighbour, index: number): string {
  const hold = neighbour.holdTimeSeconds ?? 9;
  const listenPort = config.port ?? bgpPort;
  return lines(
    `protocol bgp n${index} {`,
    `  local ${neighbour.localAddress} port ${listenPort} as ${config.localAsn};`,
    `  neighbor ${neighbour.address} port ${neighbour.port ?? bgpPort} as ${neighbour.asn};`,
    neighbour.interface !== undefined && `  interface "${neighbour.interface}";`,
    neighbour.multihop === undefined ? '  direct;' : `  multihop ${neighbour.multihop};`,
    '  strict bind on;',
    neighbour.isPassive === true && '  passive on;',
    neighbour.hasTtlSecurity === true && '  ttl security on;',
    neighbour.password !== undefined && `  password "${neighbour.password}";`,
    `  hold time ${hold};`,
    `  connect retry time ${neighbour.connectRetrySeconds ?? 1};`,
    '  connect delay time 0;',
    '  error wait time 1, 1;',
    '  error forget time 1;',
    '  enable extended messages on;',
    neighbour.isTwoOctet === true && '  enable as4 off;',
    `  graceful restart ${gracefulRestart(neighbour)};`,
    ...neighbour.families.map((family) => renderChannel(family, neighbour)),
    '}',
  );
}

function gracefulRestart(neighbour: Neighbour): string {
  if (neighbour.isGracefulRestarter === true) return 'on';
  return neighbour.isGracefulRestartHelper === true ? 'aware' : 'off';
}

const birdAddPath = { receive: 'rx', send: 'tx', both: 'on' } as const;

function renderChannel(family: Family, neighbour: Neighbour): string {
  const addPath =
    neighbour.addPath === undefined ? '' : ` add paths ${birdAddPath[neighbour.addPath]};`;
  const extended = family === 'ipv4' && neighbour.hasExtendedNextHop === true;
  const hop = extended ? ' extended next hop on;' : '';
  return `  ${family} { import all; export filter export_${family}; next hop self;${addPath}${hop} };`;
}
