/**
 * The four routers, started from a configuration that was written for them elsewhere: what `herald manifest router` printed is
 * what the daemon loads, byte for byte. Unlike the drivers of the interop ring these know nothing of what the text says, and
 * zebra and BIRD may write kernel routes, so that ECMP is seen where it counts.
 *
 * Ports, sockets and log destinations are the daemon's own command line, never a change of the text. OpenBGPD alone has its
 * control socket in the configuration: one `socket` line is put in front.
 */

import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Daemons, writeConfig } from '../interop/routers/daemon.ts';
import { parseFrrRoutes } from '../interop/routers/frr.ts';
import { parseGobgpRoutes } from '../interop/routers/gobgp.ts';
import { entries, field, items, parseJson, text } from '../interop/routers/json.ts';
import { parseOpenbgpdRoutes } from '../interop/routers/openbgpd.ts';
import type { Family } from '../interop/routers/router.ts';
import type { Host } from '../support/netns.ts';
import { done, notYet, until } from '../support/poll.ts';
import { run } from '../support/process.ts';

export type LoadedKind = 'frr' | 'bird' | 'gobgp' | 'openbgpd';

/** One path in the router's table. */
export interface Path {
  readonly prefix: string;
  readonly nextHop: string;
  /** what the router chooses with; 100 where it shows none */
  readonly localPref: number;
}

export interface LoadedRouter {
  readonly kind: LoadedKind;
  start(host: Host, config: string): Promise<void>;
  /** everything in the table that came from a neighbour and was accepted */
  paths(family: Family): Promise<readonly Path[]>;
  /** addresses of the neighbours whose session is up */
  established(): Promise<readonly string[]>;
  stop(): Promise<void>;
  log(): string;
}

export function createLoaded(kind: LoadedKind): LoadedRouter {
  switch (kind) {
    case 'frr':
      return new LoadedFrr();
    case 'bird':
      return new LoadedBird();
    case 'gobgp':
      return new LoadedGobgp();
    case 'openbgpd':
      return new LoadedOpenbgpd();
  }
}

export const plainPath = (route: {
  readonly prefix: string;
  readonly nextHops: readonly string[];
  readonly localPref?: number;
}): Path => ({
  prefix: route.prefix,
  nextHop: route.nextHops[0] ?? '',
  localPref: route.localPref ?? 100,
});

class LoadedFrr implements LoadedRouter {
  readonly kind = 'frr';
  readonly #daemons = new Daemons();
  #sockets = '';

  async start(host: Host, config: string): Promise<void> {
    this.#sockets = join(host.folder, 'frr');
    rmSync(this.#sockets, { recursive: true, force: true });
    mkdirSync(this.#sockets);
    // zebra makes its sockets here as user frr
    chmodSync(this.#sockets, 0o777);
    const zserv = join(this.#sockets, 'zserv.api');
    const common = ['--vty_socket', this.#sockets, '-z', zserv, '-P', '0', '--log', 'stdout'];
    const zebra = [...common, '-f', '/dev/null', '-i', join(this.#sockets, 'zebra.pid')];
    this.#daemons.start(host, { name: 'zebra', command: '/usr/lib/frr/zebra', args: zebra });
    await until('zebra listens', () => {
      this.#daemons.assertRunning();
      return existsSync(zserv) ? done(true) : notYet('no socket');
    });
    const path = writeConfig(host, 'frr.conf', config);
    // as frr.service does it: vtysh parses the file first, so that a line FRR does not know is an error here
    await run('vtysh', ['--vty_socket', this.#sockets, '-C', '-f', path]);
    const args = [...common, '-S', '-f', '/dev/null', '-i', join(this.#sockets, 'bgpd.pid')];
    this.#daemons.start(host, { name: 'bgpd', command: '/usr/lib/frr/bgpd', args });
    await until('vtysh answers for bgpd', async () => {
      this.#daemons.assertRunning();
      return done(await this.#json('show bgp summary json'));
    });
    // the one file of all daemons: each line goes to those that it concerns
    const { stdout, stderr } = await run('vtysh', ['--vty_socket', this.#sockets, '-f', path]);
    const said = `${stdout}${stderr}${this.#daemons.log()}`;
    const unknown = /(Unknown command|error occurred|failure).*/.exec(said);
    if (unknown !== null) throw new Error(`FRR does not take the configuration: ${said}`);
  }

  async paths(family: Family): Promise<Path[]> {
    const table = await this.#json(`show bgp ${family} unicast json detail`);
    return parseFrrRoutes(table).map(plainPath);
  }

  async established(): Promise<string[]> {
    return frrEstablished(await this.#json('show bgp neighbors json'));
  }

  stop(): Promise<void> {
    return this.#daemons.stop();
  }

  log(): string {
    return this.#daemons.log();
  }

  async #json(command: string): Promise<unknown> {
    const { stdout } = await run('vtysh', ['--vty_socket', this.#sockets, '-c', command]);
    return parseJson(stdout);
  }
}

/** Addresses of neighbours whose session is up, from `show bgp neighbors json`. */
export function frrEstablished(neighbours: unknown): string[] {
  return entries(neighbours)
    .filter(([, value]) => text(field(value, 'bgpState')) === 'Established')
    .map(([address]) => address);
}

class LoadedBird implements LoadedRouter {
  readonly kind = 'bird';
  readonly #daemons = new Daemons();
  #socket = '';

  async start(host: Host, config: string): Promise<void> {
    this.#socket = join(host.folder, 'bird.ctl');
    const path = writeConfig(host, 'bird.conf', config);
    await run('bird', ['-p', '-c', path]);
    // -d: what would go to syslog is on stderr
    const args = ['-d', '-c', path, '-s', this.#socket, '-P', join(host.folder, 'bird.pid')];
    this.#daemons.start(host, { name: 'bird', command: 'bird', args });
    await until('birdc answers', async () => {
      this.#daemons.assertRunning();
      return done(await this.#ask('show status'));
    });
  }

  async paths(family: Family): Promise<Path[]> {
    return parseBirdPaths(await this.#ask(birdTable(family)));
  }

  async established(): Promise<string[]> {
    return parseBirdEstablished(await this.#ask('show protocols all'));
  }

  stop(): Promise<void> {
    return this.#daemons.stop();
  }

  log(): string {
    return this.#daemons.log();
  }

  async #ask(command: string): Promise<string> {
    const { stdout } = await run('birdc', ['-s', this.#socket, command]);
    return stdout;
  }
}

export const birdTable = (family: Family) =>
  `show route table master${family === 'ipv4' ? 4 : 6} all`;

export function parseBirdPaths(output: string): Path[] {
  const paths: Path[] = [];
  let prefix = '';
  // a further path of the same prefix leaves the first column empty
  for (const block of output.split(/^(?=\S+ +unicast \[| {10,}unicast \[)/m)) {
    prefix = /^(\S+)/.exec(block)?.[1] ?? prefix;
    const nextHop = /BGP\.next_hop: (\S+)/.exec(block)?.[1];
    const localPref = Number(/BGP\.local_pref: (\d+)/.exec(block)?.[1] ?? 100);
    if (nextHop !== undefined) paths.push({ prefix, nextHop, localPref });
  }
  return paths;
}

/** Addresses of neighbours whose session is up, from `show protocols all`. */
export function parseBirdEstablished(output: string): string[] {
  return output
    .split(/^(?=\S)/m)
    .filter((block) => /BGP state: +Established/.test(block))
    .map((block) => /Neighbor address: (\S+)/.exec(block)?.[1] ?? '');
}

class LoadedGobgp implements LoadedRouter {
  readonly kind = 'gobgp';
  readonly #daemons = new Daemons();
  #socket = '';

  async start(host: Host, config: string): Promise<void> {
    this.#socket = join(host.folder, 'gobgp.sock');
    rmSync(this.#socket, { force: true });
    const path = writeConfig(host, 'gobgpd.toml', config);
    await run('gobgpd', ['--dry-run', '-f', path]);
    const args = ['-f', path, '--api-hosts', `unix://${this.#socket}`, '--pprof-disable'];
    this.#daemons.start(host, { name: 'gobgpd', command: 'gobgpd', args });
    await until('gobgp answers', async () => {
      this.#daemons.assertRunning();
      return done(await this.#json('neighbor'));
    });
  }

  async paths(family: Family): Promise<Path[]> {
    return parseGobgpRoutes(await this.#json('global', 'rib', '-a', family)).map(plainPath);
  }

  async established(): Promise<string[]> {
    const isUp = (value: unknown) => field(value, 'state', 'session_state') === 6;
    return items(await this.#json('neighbor'))
      .filter(isUp)
      .map((value) => text(field(value, 'state', 'neighbor_address')));
  }

  stop(): Promise<void> {
    return this.#daemons.stop();
  }

  log(): string {
    return this.#daemons.log();
  }

  async #json(...args: readonly string[]): Promise<unknown> {
    const { stdout } = await run('gobgp', ['--target', `unix://${this.#socket}`, '-j', ...args]);
    return parseJson(stdout);
  }
}

class LoadedOpenbgpd implements LoadedRouter {
  readonly kind = 'openbgpd';
  readonly #daemons = new Daemons();
  #socket = '';

  async start(host: Host, config: string): Promise<void> {
    mkdirSync('/run/openbgpd', { recursive: true });
    this.#socket = join(host.folder, 'openbgpd.sock');
    rmSync(this.#socket, { force: true });
    const path = writeConfig(host, 'openbgpd.conf', `socket "${this.#socket}"\n${config}`);
    await run('/usr/sbin/bgpd', ['-n', '-f', path]);
    const args = ['-d', '-f', path];
    this.#daemons.start(host, { name: 'openbgpd', command: '/usr/sbin/bgpd', args });
    await until('bgpctl answers', async () => {
      this.#daemons.assertRunning();
      return done(await this.#json('show', 'neighbor'));
    });
  }

  async paths(family: Family): Promise<Path[]> {
    const table = await this.#json('show', 'rib', family === 'ipv4' ? 'inet' : 'inet6', 'detail');
    return parseOpenbgpdRoutes(table).map(plainPath);
  }

  async established(): Promise<string[]> {
    return items(field(await this.#json('show', 'neighbor'), 'neighbors'))
      .filter((value) => text(field(value, 'state')).toLowerCase() === 'established')
      .map((value) => text(field(value, 'remote_addr')));
  }

  stop(): Promise<void> {
    return this.#daemons.stop();
  }

  log(): string {
    return this.#daemons.log();
  }

  async #json(...args: readonly string[]): Promise<unknown> {
    const { stdout } = await run('bgpctl', ['-s', this.#socket, '-j', ...args]);
    return parseJson(stdout);
  }
}
