/**
 * OpenBGPD: `bgpd -d` with its own control socket, read through `bgpctl -j`.
 *
 * It refuses a configuration that others can read (mode 0600) and needs /run/openbgpd to exist, the home and
 * chroot of its user; the folder is made when it is missing. Traits of 7.7: MED is shown as 0 and local preference
 * as 100 where the route has none, so `med: 0` may mean absent; of an IPv6 next hop it shows the global
 * address only; there is no RFC 8950. It has three processes, frozen together.
 */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { communityOf, extendedCommunityOfHex } from './community.ts';
import { Daemons, lines, writeConfig } from './daemon.ts';
import { field, items, optionalNumber, optionalText, parseJson, text } from './json.ts';
import {
  asPathOf,
  bgpPort,
  type Family,
  type Neighbour,
  originOf,
  plainPrefixes,
  type ReceivedNotification,
  type Route,
  type Router,
  type RouterConfig,
  type Session,
  sessionState,
} from './router.ts';

const home = '/run/openbgpd';
/** FRR has a bgpd too; OpenBGPD's is the one in sbin. */
const program = '/usr/sbin/bgpd';

export class Openbgpd implements Router {
  readonly kind = 'openbgpd';
  readonly limits = {
    'extended-next-hop': 'OpenBGPD 7.7 has no RFC 8950',
    'shows-link-local': 'of an IPv6 next hop bgpctl shows the global address only',
  };
  readonly #daemons = new Daemons();
  #host: Host | undefined;
  #config: RouterConfig | undefined;
  #socket = '';

  async version(): Promise<string> {
    const { stdout, stderr } = await run(program, ['-V'], { anyStatus: true });
    return `${stdout}${stderr}`.trim();
  }

  async start(host: Host, config: RouterConfig): Promise<void> {
    this.#host = host;
    this.#config = config;
    mkdirSync(home, { recursive: true });
    this.#socket = join(host.folder, 'openbgpd.sock');
    rmSync(this.#socket, { force: true });
    const path = writeConfig(host, 'openbgpd.conf', renderOpenbgpd(config, this.#socket));
    this.#daemons.start(host, { name: 'openbgpd', command: program, args: ['-d', '-f', path] });
    await until('bgpctl answers', async () => {
      this.#daemons.assertRunning();
      const neighbours = await this.#neighbours();
      return neighbours.length === config.neighbours.length ? done(true) : notYet(neighbours);
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
    if (this.#host === undefined || this.#config === undefined) {
      throw new Error('the router was never started');
    }
    await this.start(this.#host, this.#config);
  }

  async sessions(): Promise<Session[]> {
    return (await this.#neighbours()).map((value) => {
      const state = sessionState(text(field(value, 'state')));
      const uptime = optionalNumber(field(value, 'last_updown_sec'));
      const endOfRibs = optionalNumber(field(value, 'stats', 'update', 'received', 'eor'));
      const said = ['last_error_sent', 'last_error_received', 'last_shutdown_reason']
        .map((name) => optionalText(field(value, name)))
        .filter((part) => part !== undefined);
      return {
        peer: text(field(value, 'remote_addr')),
        state,
        ...(endOfRibs === undefined ? {} : { endOfRibs }),
        ...(state === 'established' && uptime !== undefined ? { uptimeSeconds: uptime } : {}),
        ...(said.length === 0 ? {} : { lastError: said.join(': ') }),
      };
    });
  }

  async routes(family: Family): Promise<Route[]> {
    const table = await this.#json('show', 'rib', family === 'ipv4' ? 'inet' : 'inet6', 'detail');
    return parseOpenbgpdRoutes(table);
  }

  async count(family: Family): Promise<number> {
    // Per neighbour OpenBGPD counts both families together, so the table itself is counted.
    const table = await this.#json('show', 'rib', family === 'ipv4' ? 'inet' : 'inet6');
    return items(field(table, 'rib')).filter(isLearnt).length;
  }

  async refresh(peer: string): Promise<void> {
    await this.#ask('neighbor', peer, 'refresh');
  }

  async shutdown(peer: string, reason: string): Promise<string> {
    await this.#ask('neighbor', peer, 'down', reason);
    return reason;
  }

  async enable(peer: string): Promise<void> {
    await this.#ask('neighbor', peer, 'up');
  }

  async lastNotification(peer: string): Promise<ReceivedNotification | undefined> {
    const value = (await this.#neighbours()).find((each) => field(each, 'remote_addr') === peer);
    const shown = optionalText(field(value, 'last_error_received'));
    if (shown === undefined) return undefined;
    const said = optionalText(field(value, 'last_shutdown_reason'));
    return { shown, ...(said === undefined ? {} : { text: said }) };
  }

  log(): string {
    return this.#daemons.log();
  }

  async #neighbours(): Promise<unknown[]> {
    return items(field(await this.#json('show', 'neighbor'), 'neighbors'));
  }

  async #ask(...args: readonly string[]): Promise<string> {
    const { stdout } = await run('bgpctl', ['-s', this.#socket, ...args], { timeoutMs: 30_000 });
    return stdout;
  }

  async #json(...args: readonly string[]): Promise<unknown> {
    return parseJson(unescapeOctal(await this.#ask('-j', ...args)));
  }
}

/** bgpctl writes octets above 127 as `\303`, which is no JSON. */
function unescapeOctal(json: string): string {
  return json.replaceAll(/(?:\\[0-3][0-7]{2})+/g, (octets) =>
    Buffer.from(
      octets
        .split('\\')
        .slice(1)
        .map((digits) => Number.parseInt(digits, 8)),
    ).toString(),
  );
}

const isLearnt = (path: unknown) => field(path, 'neighbor', 'description') !== 'LOCAL';

export function parseOpenbgpdRoutes(table: unknown): Route[] {
  return items(field(table, 'rib')).filter(isLearnt).map(parsePath);
}

function parsePath(path: unknown): Route {
  const words = (name: string) => items(field(path, name)).map(text);
  const med = optionalNumber(field(path, 'metric'));
  const localPref = optionalNumber(field(path, 'localpref'));
  const pathId = optionalNumber(field(path, 'path_id'));
  return {
    prefix: text(field(path, 'prefix')),
    nextHops: [text(field(path, 'exit_nexthop'))],
    asPath: asPathOf(text(field(path, 'aspath'))),
    origin: originOf(text(field(path, 'origin'))),
    ...(med === undefined ? {} : { med }),
    ...(localPref === undefined ? {} : { localPref }),
    ...(pathId === undefined ? {} : { pathId }),
    ...(field(path, 'stale') === true ? { isStale: true } : {}),
    communities: words('communities').map(communityOf),
    largeCommunities: words('large_communities'),
    extendedCommunities: words('extended_communities').map(openbgpdExtendedCommunity),
    peer: text(field(path, 'neighbor', 'remote_addr')),
  };
}

/** `rt 65001:9`, `soo …`, `[4] 65001:1290693416` for a subtype without a name, or `0x0004fde94cee6b28`. */
function openbgpdExtendedCommunity(word: string): string {
  const nameless = /^\[4\] (\d+):(\d+)$/.exec(word);
  if (nameless !== null) {
    const hex = (value: string | undefined, digits: number) =>
      Number(value).toString(16).padStart(digits, '0');
    return extendedCommunityOfHex(`0004${hex(nameless[1], 4)}${hex(nameless[2], 8)}`);
  }
  const hex = /0x([0-9a-f]{16})$/.exec(word)?.[1];
  return hex === undefined ? word.replace(' ', ':') : extendedCommunityOfHex(hex);
}

export function renderOpenbgpd(config: RouterConfig, socket: string): string {
  const port = config.port ?? bgpPort;
  const listen = config.listen ?? [
    ...new Set(config.neighbours.map((neighbour) => neighbour.localAddress)),
  ];
  const retry = Math.min(...config.neighbours.map((each) => each.connectRetrySeconds ?? 1));
  return lines(
    `AS ${config.localAsn}`,
    `router-id ${config.routerId}`,
    'fib-update no',
    `socket "${socket}"`,
    Number.isFinite(retry) && `connect-retry ${retry}`,
    ...listen.map((address) => `listen on ${address} port ${port}`),
    ...plainPrefixes(config, 'openbgpd').map((prefix) => `network ${prefix}`),
    ...config.neighbours.map(renderNeighbour),
    'allow from any',
    'allow to any',
    '',
  );
}

function renderNeighbour(neighbour: Neighbour): string {
  if (neighbour.hasExtendedNextHop === true) throw new Error('OpenBGPD 7.7 has no RFC 8950');
  const scope = neighbour.interface === undefined ? '' : `%${neighbour.interface}`;
  return lines(
    `neighbor ${neighbour.address}${scope} {`,
    `  remote-as ${neighbour.asn}`,
    `  local-address ${neighbour.localAddress}`,
    `  holdtime ${neighbour.holdTimeSeconds ?? 9}`,
    '  holdtime min 3',
    neighbour.port !== undefined && `  port ${neighbour.port}`,
    neighbour.isPassive === true && '  passive',
    neighbour.multihop !== undefined && `  multihop ${neighbour.multihop}`,
    neighbour.hasTtlSecurity === true && '  ttl-security yes',
    neighbour.password !== undefined && `  tcp md5sig password "${neighbour.password}"`,
    `  announce IPv4 ${neighbour.families.includes('ipv4') ? 'unicast' : 'none'}`,
    `  announce IPv6 ${neighbour.families.includes('ipv6') ? 'unicast' : 'none'}`,
    `  announce restart ${neighbour.isGracefulRestartHelper === true ? 'yes' : 'no'}`,
    `  announce as-4byte ${neighbour.isTwoOctet === true ? 'no' : 'yes'}`,
    ...renderAddPath(neighbour),
    '}',
  );
}

function renderAddPath({ addPath }: Neighbour): string[] {
  return [
    ...(addPath === 'receive' || addPath === 'both' ? ['  announce add-path recv yes'] : []),
    ...(addPath === 'send' || addPath === 'both' ? ['  announce add-path send all'] : []),
  ];
}
