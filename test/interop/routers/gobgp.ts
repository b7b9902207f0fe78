/**
 * GoBGP: `gobgpd` with a TOML file and its API on a unix socket, read through `gobgp -j`.
 *
 * Traits of 3.10: it dies on a message of unknown type and on an OPEN in Established (keep it out of fault tests); it
 * ignores `idle-hold-time-after-reset` from its file and so may refuse connections for up to 30 s after a session was
 * reset, and takes about 5 s before it dials for the first time or after `enable`; of an IPv6 next hop it shows the global address only. `gobgp neighbor` does not show received NOTIFICATIONs, its log does.
 */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { communityOfNumber, linkBandwidth } from './community.ts';
import { Daemons, lines, writeConfig } from './daemon.ts';
import { entries, field, items, optionalNumber, parseJson, text } from './json.ts';
import {
  bgpPort,
  type Family,
  familyOf,
  type Neighbour,
  plainPrefixes,
  type ReceivedNotification,
  type Route,
  type Router,
  type RouterConfig,
  type Session,
  type SessionState,
} from './router.ts';

/** `session_state` of the API (PeerState.SessionState), by number. */
const states: readonly SessionState[] = [
  'idle',
  'idle',
  'connect',
  'active',
  'open-sent',
  'open-confirm',
  'established',
];
const origins = ['igp', 'egp', 'incomplete'] as const;

const attributeType = {
  origin: 1,
  asPath: 2,
  nextHop: 3,
  med: 4,
  localPref: 5,
  communities: 8,
  mpReach: 14,
  extendedCommunities: 16,
  largeCommunities: 32,
} as const;

export class Gobgp implements Router {
  readonly kind = 'gobgp';
  readonly limits = {
    refresh: 'softresetin runs the import policy again over the stored routes and sends nothing',
    'shows-path-id': 'no path identifier in the JSON of the table',
    'shows-link-local': 'of an IPv6 next hop the CLI shows the global address only',
  };
  readonly #daemons = new Daemons();
  #host: Host | undefined;
  #config: RouterConfig | undefined;
  #socket = '';

  async version(): Promise<string> {
    const { stdout } = await run('gobgpd', ['--version']);
    return `GoBGP ${/version ([\d.]+)/.exec(stdout)?.[1] ?? 'unknown'}`;
  }

  async start(host: Host, config: RouterConfig): Promise<void> {
    this.#host = host;
    this.#config = config;
    this.#socket = join(host.folder, 'gobgp.sock');
    rmSync(this.#socket, { force: true });
    const path = writeConfig(host, 'gobgpd.toml', renderGobgp(config));
    const args = ['-f', path, '--api-hosts', `unix://${this.#socket}`, '--pprof-disable'];
    this.#daemons.start(host, { name: 'gobgpd', command: 'gobgpd', args });
    await until('gobgp answers', async () => {
      this.#daemons.assertRunning();
      const neighbours = items(await this.#json('neighbor'));
      return neighbours.length === config.neighbours.length ? done(true) : notYet(neighbours);
    });
    for (const prefix of plainPrefixes(config, 'gobgp')) {
      const next = familyOf(prefix) === 'ipv6' ? ['nexthop', '::'] : ['nexthop', '0.0.0.0'];
      await this.#ask('global', 'rib', 'add', prefix, ...next, '-a', familyOf(prefix));
    }
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
    if (this.#host === undefined || this.#config === undefined) {
      throw new Error('the router was never started');
    }
    await this.start(this.#host, this.#config);
  }

  async sessions(): Promise<Session[]> {
    const notifications = this.#notifications();
    return items(await this.#json('neighbor')).map((value) => {
      const peer = text(field(value, 'state', 'neighbor_address'));
      const state = states[optionalNumber(field(value, 'state', 'session_state')) ?? 0] ?? 'idle';
      const up = optionalNumber(field(value, 'timers', 'state', 'uptime', 'seconds'));
      const ended = items(field(value, 'afi_safis')).filter(
        (each) => field(each, 'mp_graceful_restart', 'state', 'end_of_rib_received') === true,
      );
      const last = notifications.findLast((each) => each.peer === peer);
      return {
        peer,
        state,
        endOfRibs: ended.length,
        ...(state === 'established' && up !== undefined
          ? { uptimeSeconds: Date.now() / 1000 - up }
          : {}),
        ...(last === undefined ? {} : { lastError: last.words }),
      };
    });
  }

  async routes(family: Family): Promise<Route[]> {
    return parseGobgpRoutes(await this.#json('global', 'rib', '-a', family));
  }

  async count(family: Family): Promise<number> {
    const afi = family === 'ipv4' ? 1 : 2;
    return items(await this.#json('neighbor'))
      .flatMap((value) => items(field(value, 'afi_safis')))
      .filter((each) => field(each, 'state', 'family', 'afi') === afi)
      .map((each) => optionalNumber(field(each, 'state', 'accepted')) ?? 0)
      .reduce((sum, each) => sum + each, 0);
  }

  async refresh(_peer: string): Promise<void> {
    throw new Error(`GoBGP cannot ask for a route refresh: ${this.limits.refresh}`);
  }

  async shutdown(peer: string, reason: string): Promise<string> {
    // Only `shutdown` carries the text, only `disable` keeps the session down.
    await this.#ask('neighbor', peer, 'shutdown', '--reason', reason);
    await this.#ask('neighbor', peer, 'disable');
    return reason;
  }

  async enable(peer: string): Promise<void> {
    await this.#ask('neighbor', peer, 'enable');
  }

  async lastNotification(peer: string): Promise<ReceivedNotification | undefined> {
    return this.#notifications().findLast((each) => each.peer === peer)?.notification;
  }

  log(): string {
    return this.#daemons.log();
  }

  #notifications() {
    return parseGobgpNotifications(this.#daemons.log());
  }

  async #ask(...args: readonly string[]): Promise<string> {
    const { stdout } = await run('gobgp', ['--target', `unix://${this.#socket}`, ...args]);
    return stdout;
  }

  async #json(...args: readonly string[]): Promise<unknown> {
    return parseJson(await this.#ask('-j', ...args));
  }
}

/** The log is JSON lines: `{"Code":6,"Subcode":2,"Communicated-Reason":"…","Key":"10.0.0.1",…}`. */
export function parseGobgpNotifications(log: string) {
  return log
    .split('\n')
    .filter((line) => line.includes('"received notification"'))
    .map((line) => {
      const value = parseJson(line);
      const [code, subcode] = [field(value, 'Code'), field(value, 'Subcode')].map(optionalNumber);
      const said = text(field(value, 'Communicated-Reason'));
      const notification: ReceivedNotification = {
        shown: line,
        ...(code === undefined ? {} : { code }),
        ...(subcode === undefined ? {} : { subcode }),
        ...(said === '' ? {} : { text: said }),
      };
      const words = `received notification ${code}/${subcode}${said === '' ? '' : `: ${said}`}`;
      return { peer: text(field(value, 'Key')), words, notification };
    });
}

export function parseGobgpRoutes(table: unknown): Route[] {
  return entries(table).flatMap(([prefix, paths]) =>
    items(paths)
      // The router's own routes have no neighbour.
      .filter((path) => /[1-9a-f]/.test(text(field(path, 'neighbor-ip'))))
      .map((path) => parseGobgpPath(prefix, path)),
  );
}

function parseGobgpPath(prefix: string, path: unknown): Route {
  const attribute = (type: number) =>
    items(field(path, 'attrs')).find((each) => field(each, 'type') === type);
  const med = optionalNumber(field(attribute(attributeType.med), 'metric'));
  const localPref = optionalNumber(field(attribute(attributeType.localPref), 'value'));
  const hop =
    field(attribute(attributeType.mpReach), 'nexthop') ??
    field(attribute(attributeType.nextHop), 'nexthop');
  return {
    prefix,
    nextHops: [text(hop)],
    asPath: items(field(attribute(attributeType.asPath), 'as_paths')).flatMap((segment) =>
      items(field(segment, 'asns')).map(Number),
    ),
    origin: origins[Number(field(attribute(attributeType.origin), 'value'))] ?? 'incomplete',
    ...(med === undefined ? {} : { med }),
    ...(localPref === undefined ? {} : { localPref }),
    ...(field(path, 'stale') === true ? { isStale: true } : {}),
    communities: items(field(attribute(attributeType.communities), 'communities')).map((each) =>
      communityOfNumber(Number(each)),
    ),
    largeCommunities: items(field(attribute(attributeType.largeCommunities), 'value')).map((each) =>
      [field(each, 'ASN'), field(each, 'LocalData1'), field(each, 'LocalData2')].join(':'),
    ),
    extendedCommunities: items(field(attribute(attributeType.extendedCommunities), 'value')).map(
      gobgpExtendedCommunity,
    ),
    peer: text(field(path, 'neighbor-ip')),
  };
}

function gobgpExtendedCommunity(value: unknown): string {
  const subtype = optionalNumber(field(value, 'subtype'));
  const type = (optionalNumber(field(value, 'type')) ?? 0) & 0xbf;
  const bandwidth = optionalNumber(field(value, 'bandwidth'));
  if (type === 0 && subtype === 4 && bandwidth !== undefined) {
    return linkBandwidth(Number(field(value, 'asn')), bandwidth);
  }
  if (type <= 2 && subtype === 2) return `rt:${text(field(value, 'value'))}`;
  if (type <= 2 && subtype === 3) return `soo:${text(field(value, 'value'))}`;
  return JSON.stringify(value);
}

export function renderGobgp(config: RouterConfig): string {
  const listen = (config.listen ?? []).map((address) => `"${address}"`).join(', ');
  return lines(
    '[global.config]',
    `  as = ${config.localAsn}`,
    `  router-id = "${config.routerId}"`,
    `  port = ${config.port ?? bgpPort}`,
    listen !== '' && `  local-address-list = [${listen}]`,
    ...config.neighbours.map(renderNeighbour),
    '',
  );
}

function renderNeighbour(neighbour: Neighbour): string {
  const hold = neighbour.holdTimeSeconds ?? 9;
  const isHelper = neighbour.isGracefulRestartHelper === true;
  if (neighbour.isTwoOctet === true) throw new Error('GoBGP always speaks four octets');
  return lines(
    '[[neighbors]]',
    '  [neighbors.config]',
    `    neighbor-address = "${neighbour.address}"`,
    `    peer-as = ${neighbour.asn}`,
    neighbour.password !== undefined && `    auth-password = "${neighbour.password}"`,
    '  [neighbors.timers.config]',
    `    hold-time = ${hold}`,
    `    keepalive-interval = ${Math.floor(hold / 3)}`,
    `    connect-retry = ${neighbour.connectRetrySeconds ?? 1}`,
    '  [neighbors.transport.config]',
    `    local-address = "${neighbour.localAddress}"`,
    `    remote-port = ${neighbour.port ?? bgpPort}`,
    `    passive-mode = ${neighbour.isPassive === true}`,
    neighbour.hasTtlSecurity === true &&
      `  [neighbors.ttl-security.config]\n    enabled = true\n    ttl-min = ${256 - (neighbour.multihop ?? 1)}`,
    neighbour.multihop !== undefined &&
      neighbour.hasTtlSecurity !== true &&
      `  [neighbors.ebgp-multihop.config]\n    enabled = true\n    multihop-ttl = ${neighbour.multihop}`,
    isHelper &&
      '  [neighbors.graceful-restart.config]\n    enabled = true\n    helper-only = true\n    restart-time = 120',
    ...neighbour.families.map((family) => renderFamily(family, neighbour)),
  );
}

function renderFamily(family: Family, neighbour: Neighbour): string {
  const isHelper = neighbour.isGracefulRestartHelper === true;
  const receives = neighbour.addPath === 'receive' || neighbour.addPath === 'both';
  const sends = neighbour.addPath === 'send' || neighbour.addPath === 'both';
  return lines(
    '  [[neighbors.afi-safis]]',
    '    [neighbors.afi-safis.config]',
    `      afi-safi-name = "${family}-unicast"`,
    isHelper && '    [neighbors.afi-safis.mp-graceful-restart.config]\n      enabled = true',
    (receives || sends) && '    [neighbors.afi-safis.add-paths.config]',
    receives && '      receive = true',
    sends && '      send-max = 8',
  );
}
