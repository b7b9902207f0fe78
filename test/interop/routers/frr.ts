/**
 * FRR: zebra and bgpd with private sockets, read through `vtysh … json`.
 *
 * zebra is there because bgpd learns interfaces from it: without one, bgpd refuses an IPv6 next hop that carries a
 * link-local address. bgpd runs with `-n`, so no route reaches the kernel. Traits: FRR 8.4 wants a policy on eBGP unless
 * told otherwise, keeps its OpenSent hold timer until the second message in Established, and answers most
 * RFC 7606 cases with 3/10. `clear … soft in` sends ROUTE-REFRESH only while inbound
 * soft-reconfiguration is off, which it is here.
 */

import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { communityOf, linkBandwidth } from './community.ts';
import { Daemons, lines, writeConfig } from './daemon.ts';
import { entries, field, items, optionalNumber, optionalText, parseJson, text } from './json.ts';
import {
  asPathOf,
  bgpPort,
  type Family,
  familyOf,
  type Neighbour,
  neighbourOf,
  originOf,
  plainPrefixes,
  type ReceivedNotification,
  type Route,
  type Router,
  type RouterConfig,
  type Session,
  sessionState,
} from './router.ts';

const programs = '/usr/lib/frr';

export class Frr implements Router {
  readonly kind = 'frr';
  readonly limits = {};
  readonly #daemons = new Daemons();
  #host: Host | undefined;
  #config: RouterConfig | undefined;
  #sockets = '';

  async version(): Promise<string> {
    const { stdout } = await run(`${programs}/bgpd`, ['--version']);
    return `FRR ${/version ([\d.]+)/.exec(stdout)?.[1] ?? 'unknown'}`;
  }

  async start(host: Host, config: RouterConfig): Promise<void> {
    this.#host = host;
    this.#config = config;
    this.#sockets = join(host.folder, 'frr');
    rmSync(this.#sockets, { recursive: true, force: true });
    mkdirSync(this.#sockets);
    // zebra cannot be told to stay root, and makes its sockets here as user frr.
    chmodSync(this.#sockets, 0o777);
    const zserv = join(this.#sockets, 'zserv.api');
    const common = ['--vty_socket', this.#sockets, '-z', zserv, '-P', '0', '--log', 'stdout'];
    const zebra = [...common, '-f', '/dev/null', '-i', join(this.#sockets, 'zebra.pid')];
    this.#daemons.start(host, { name: 'zebra', command: `${programs}/zebra`, args: zebra });
    await until('zebra listens', () => {
      this.#daemons.assertRunning();
      return existsSync(zserv) ? done(true) : notYet('no socket');
    });
    const path = writeConfig(host, 'bgpd.conf', renderFrr(config));
    const bgpd = [...common, '-S', '-n', '-f', path, '-i', join(this.#sockets, 'bgpd.pid')];
    const listen = (config.listen ?? []).flatMap((address) => ['-l', address]);
    const args = [...bgpd, '-p', String(config.port ?? bgpPort), ...listen];
    this.#daemons.start(host, { name: 'bgpd', command: `${programs}/bgpd`, args });
    await until('vtysh answers for bgpd', async () => {
      this.#daemons.assertRunning();
      const neighbours = entries(await this.#json('show bgp neighbors json'));
      return neighbours.length >= config.neighbours.length ? done(true) : notYet(neighbours);
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
    return entries(await this.#json('show bgp neighbors json')).map(([peer, value]) => {
      const uptimeMs = optionalNumber(field(value, 'bgpTimerUpMsec'));
      const reset = optionalText(field(value, 'lastResetDueTo'));
      const reason = optionalText(field(value, 'lastNotificationReason'));
      const said = optionalText(field(value, 'lastShutdownDescription'));
      const ended = entries(field(value, 'gracefulRestartInfo', 'endOfRibRecv'));
      const lastError = [reset, reason, said].filter((part) => part !== undefined).join(': ');
      return {
        peer,
        state: sessionState(text(field(value, 'bgpState'))),
        endOfRibs: ended.filter(([, isReceived]) => isReceived === true).length,
        ...(uptimeMs === undefined ? {} : { uptimeSeconds: uptimeMs / 1000 }),
        ...(lastError === '' ? {} : { lastError }),
      };
    });
  }

  async routes(family: Family): Promise<Route[]> {
    const table = await this.#json(`show bgp ${family} unicast json detail`);
    return parseFrrRoutes(table);
  }

  async count(family: Family): Promise<number> {
    const summary = await this.#json(`show bgp ${family} unicast summary json`);
    const inner = field(summary, `${family}Unicast`) ?? summary;
    return entries(field(inner, 'peers'))
      .map(([, peer]) => optionalNumber(field(peer, 'pfxRcd')) ?? 0)
      .reduce((sum, each) => sum + each, 0);
  }

  async refresh(peer: string): Promise<void> {
    const { families } = neighbourOf(this.#running(), peer);
    await this.#ask(...families.map((family) => `clear bgp ${family} unicast ${peer} soft in`));
  }

  async shutdown(peer: string, message: string): Promise<string> {
    await this.#configure(`neighbor ${peer} shutdown message ${message}`);
    return message;
  }

  async enable(peer: string): Promise<void> {
    await this.#configure(`no neighbor ${peer} shutdown`);
  }

  async lastNotification(peer: string): Promise<ReceivedNotification | undefined> {
    const value = field(await this.#json('show bgp neighbors json'), peer);
    const shown = optionalText(field(value, 'lastNotificationReason'));
    if (shown === undefined || field(value, 'lastResetDueTo') !== 'BGP Notification received') {
      return undefined;
    }
    const numbers = /^(..)(..)$/.exec(text(field(value, 'lastErrorCodeSubcode')));
    const said = unescapeHex(optionalText(field(value, 'lastShutdownDescription')));
    return {
      shown,
      ...(numbers === null
        ? {}
        : {
            code: Number.parseInt(numbers[1] ?? '', 16),
            subcode: Number.parseInt(numbers[2] ?? '', 16),
          }),
      ...(said === undefined ? {} : { text: said }),
    };
  }

  log(): string {
    return this.#daemons.log();
  }

  async #configure(line: string): Promise<void> {
    await this.#ask('configure terminal', `router bgp ${this.#running().localAsn}`, line);
  }

  async #ask(...commands: readonly string[]): Promise<string> {
    const args = commands.flatMap((command) => ['-c', command]);
    const { stdout } = await run('vtysh', ['--vty_socket', this.#sockets, ...args]);
    if (stdout.startsWith('%')) throw new Error(`vtysh ${commands.join('; ')}: ${stdout.trim()}`);
    return stdout;
  }

  async #json(command: string): Promise<unknown> {
    return parseJson(await this.#ask(command));
  }

  #running(): RouterConfig {
    if (this.#config === undefined) throw new Error('the router was never started');
    return this.#config;
  }
}

/** FRR shows octets above 127 of a text as `\xc3`. */
function unescapeHex(shown: string | undefined): string | undefined {
  return shown?.replaceAll(/(?:\\x[0-9a-f]{2})+/g, (octets) =>
    Buffer.from(octets.replaceAll('\\x', ''), 'hex').toString(),
  );
}

export function parseFrrRoutes(table: unknown): Route[] {
  return entries(field(table, 'routes')).flatMap(([prefix, paths]) =>
    // The list opens with an element about the prefix itself; the router's own routes have no peer type.
    items(paths)
      .filter((path) => field(path, 'peer', 'type') !== undefined)
      .map((path) => parseFrrPath(prefix, path)),
  );
}

function parseFrrPath(prefix: string, path: unknown): Route {
  const med = optionalNumber(field(path, 'metric'));
  const localPref = optionalNumber(field(path, 'locPrf'));
  const pathId = optionalNumber(field(path, 'addpathRxId'));
  const words = (name: string) => items(field(path, name, 'list')).map(text);
  return {
    prefix,
    nextHops: items(field(path, 'nexthops')).map((hop) => text(field(hop, 'ip'))),
    asPath: items(field(path, 'aspath', 'segments')).flatMap((segment) =>
      asPathOf(items(field(segment, 'list')).join(' ')),
    ),
    origin: originOf(text(field(path, 'origin'))),
    ...(med === undefined ? {} : { med }),
    ...(localPref === undefined ? {} : { localPref }),
    ...(pathId === undefined ? {} : { pathId }),
    ...(field(path, 'stale') === true ? { isStale: true } : {}),
    communities: words('community').map(communityOf),
    largeCommunities: words('largeCommunity'),
    extendedCommunities: frrExtendedCommunities(text(field(path, 'extendedCommunity', 'string'))),
    peer: text(field(path, 'peer', 'peerId')),
  };
}

/** `RT:65001:9 SoO:… LB:65001:125000000 (1000.000 Mbps)`; what FRR cannot name is `UNK:0, 99`. */
function frrExtendedCommunities(string: string): string[] {
  const words = string.matchAll(/(RT|SoO|LB|UNK):([^ ,]+)(, [^ ]+)?( \([^)]*\))?/g);
  return [...words].map(([, kind, value = '', more = '']) => {
    if (kind === 'RT') return `rt:${value}`;
    if (kind === 'SoO') return `soo:${value}`;
    if (kind === 'UNK') return `unknown:${value}${more}`;
    const [asn, bytesPerSecond] = value.split(':').map(Number);
    return linkBandwidth(asn ?? 0, bytesPerSecond ?? 0);
  });
}

export function renderFrr(config: RouterConfig): string {
  const prefixes = plainPrefixes(config, 'frr');
  const families: readonly Family[] = ['ipv4', 'ipv6'];
  return lines(
    'hostname frr',
    'log timestamp precision 3',
    `router bgp ${config.localAsn}`,
    ` bgp router-id ${config.routerId}`,
    ' no bgp ebgp-requires-policy',
    ' no bgp network import-check',
    ' no bgp default ipv4-unicast',
    ...config.neighbours.map(renderNeighbour),
    ...families.flatMap((family) => [
      ` address-family ${family} unicast`,
      ...prefixes
        .filter((prefix) => familyOf(prefix) === family)
        .map((each) => `  network ${each}`),
      ...config.neighbours
        .filter((neighbour) => neighbour.families.includes(family))
        .flatMap((neighbour) => renderActivation(neighbour)),
      ' exit-address-family',
    ]),
    '',
  );
}

function renderNeighbour(neighbour: Neighbour): string {
  const hold = neighbour.holdTimeSeconds ?? 9;
  const at = ` neighbor ${neighbour.address}`;
  const helper = neighbour.isGracefulRestartHelper === true ? 'helper' : 'disable';
  return lines(
    `${at} remote-as ${neighbour.asn}`,
    neighbour.interface !== undefined && `${at} interface ${neighbour.interface}`,
    neighbour.port !== undefined && `${at} port ${neighbour.port}`,
    `${at} update-source ${neighbour.localAddress}`,
    neighbour.isPassive === true && `${at} passive`,
    neighbour.password !== undefined && `${at} password ${neighbour.password}`,
    neighbour.hasTtlSecurity === true && `${at} ttl-security hops ${neighbour.multihop ?? 1}`,
    neighbour.multihop !== undefined &&
      neighbour.hasTtlSecurity !== true &&
      `${at} ebgp-multihop ${neighbour.multihop}`,
    `${at} timers ${Math.floor(hold / 3)} ${hold}`,
    `${at} timers connect ${neighbour.connectRetrySeconds ?? 1}`,
    `${at} advertisement-interval 0`,
    `${at} graceful-restart-${helper}`,
    neighbour.hasExtendedNextHop === true && `${at} capability extended-nexthop`,
    neighbour.isTwoOctet === true && `${at} dont-capability-negotiate`,
  );
}

function renderActivation(neighbour: Neighbour): string[] {
  const at = `  neighbor ${neighbour.address}`;
  const sends = neighbour.addPath === 'send' || neighbour.addPath === 'both';
  const receives = neighbour.addPath === 'receive' || neighbour.addPath === 'both';
  return [
    `${at} activate`,
    ...(sends ? [`${at} addpath-tx-all-paths`] : []),
    ...(receives ? [] : [`${at} disable-addpath-rx`]),
  ];
}
