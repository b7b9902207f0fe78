/**
 * ExaBGP: a speaker without a table. Its API hands every received message to a helper process as a line of JSON, so
 * the driver keeps the table: a four-line shell script writes the lines to a file, and this file replays them (announce,
 * withdraw, and everything gone when the session goes down). ExaBGP decodes, we only remember.
 *
 * Commands go the other way through a fifo that the same script copies to ExaBGP. Traits of 4.2.21: it
 * cannot send a shutdown text of one's own (`teardown` sends the name of the subcode), nor stay down after it; its decoder fails
 * on a received shutdown text (it answers 1/0), so NOTIFICATIONs are read from the raw bytes its API gives
 * before decoding; its "refresh" lines are not JSON. It helps no restarting neighbour: it has no routes to keep.
 */

import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { Daemons, lines, writeConfig } from './daemon.ts';
import { ExabgpTable } from './exabgp-table.ts';
import {
  type Announcement,
  bgpPort,
  type Family,
  familyOf,
  type Neighbour,
  neighbourOf,
  type ReceivedNotification,
  type Route,
  type Router,
  type RouterConfig,
  type Session,
} from './router.ts';

export class Exabgp implements Router {
  readonly kind = 'exabgp';
  readonly limits = {
    'shutdown-text':
      'teardown takes a subcode and no text, and the session is dialled again at once',
    'graceful-restart-helper': 'ExaBGP keeps no table, so there is nothing to keep',
  };
  readonly #daemons = new Daemons();
  #host: Host | undefined;
  #config: RouterConfig | undefined;
  #table = new ExabgpTable([]);
  #messages = -1;
  #rest = '';
  #fifo = -1;
  #starts = 0;

  async version(): Promise<string> {
    const { stdout } = await run('exabgp', ['--version']);
    return `ExaBGP ${/ExaBGP : (\S+)/.exec(stdout)?.[1] ?? 'unknown'}`;
  }

  async start(host: Host, config: RouterConfig): Promise<void> {
    this.#host = host;
    this.#config = config;
    this.#starts += 1;
    const path = (name: string) => join(host.folder, `exabgp-${this.#starts}${name}`);
    this.#closeFiles();
    rmSync(path('.fifo'), { force: true });
    execFileSync('mkfifo', [path('.fifo')]);
    writeFileSync(path('.jsonl'), '');
    // Opened for both ways, so that neither side ever sees the end of the fifo.
    this.#fifo = openSync(path('.fifo'), 'r+');
    this.#messages = openSync(path('.jsonl'), 'r');
    this.#rest = '';
    this.#table = new ExabgpTable(config.neighbours.map((neighbour) => neighbour.address));
    writeFileSync(path('.sh'), helperScript(path('.fifo'), path('.jsonl')), { mode: 0o755 });
    const conf = writeConfig(
      host,
      `exabgp-${this.#starts}.conf`,
      renderExabgp(config, path('.sh')),
    );
    const listen = config.listen ?? [
      ...new Set(config.neighbours.map((neighbour) => neighbour.localAddress)),
    ];
    this.#daemons.start(host, {
      name: 'exabgp',
      command: 'exabgp',
      args: [conf],
      env: {
        'exabgp.daemon.user': 'root',
        'exabgp.api.cli': 'false',
        'exabgp.log.destination': 'stdout',
        'exabgp.tcp.bind': listen.join(' '),
        'exabgp.tcp.port': String(config.port ?? bgpPort),
      },
    });
    await until('ExaBGP answers its helper', () => {
      this.#daemons.assertRunning();
      this.#command('version');
      this.#read();
      return this.#table.hasAnswered ? done(true) : notYet(this.#daemons.log().slice(-500));
    });
  }

  async stop(): Promise<void> {
    await this.#daemons.stop();
    this.#closeFiles();
  }

  async kill(): Promise<void> {
    await this.#daemons.kill();
    this.#closeFiles();
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
    this.#read();
    return this.#table.sessions();
  }

  async routes(family: Family): Promise<Route[]> {
    this.#read();
    return this.#table.routes().filter((route) => familyOf(route.prefix) === family);
  }

  async count(family: Family): Promise<number> {
    return (await this.routes(family)).length;
  }

  async refresh(peer: string): Promise<void> {
    for (const family of neighbourOf(this.#running(), peer).families) {
      this.#command(`neighbor ${peer} announce route-refresh ${family} unicast`);
    }
  }

  /** ExaBGP picks the words, and dials again by itself. */
  async shutdown(peer: string, _text: string): Promise<string> {
    const administrativeShutdown = 2;
    this.#command(`neighbor ${peer} teardown ${administrativeShutdown}`);
    return 'Administrative Shutdown';
  }

  async enable(_peer: string): Promise<void> {
    // A torn down session comes back without being asked.
  }

  async lastNotification(peer: string): Promise<ReceivedNotification | undefined> {
    this.#read();
    return this.#table.lastNotification(peer);
  }

  log(): string {
    return this.#daemons.log();
  }

  #command(line: string): void {
    writeSync(this.#fifo, `${line}\n`);
  }

  #read(): void {
    if (this.#messages < 0) return;
    const buffer = new Uint8Array(1 << 20);
    const decoder = new TextDecoder();
    let text = this.#rest;
    for (;;) {
      const length = readSync(this.#messages, buffer);
      if (length === 0) break;
      text += decoder.decode(buffer.subarray(0, length), { stream: true });
    }
    const complete = text.split('\n');
    this.#rest = complete.pop() ?? '';
    for (const line of complete) this.#table.replay(line);
  }

  #closeFiles(): void {
    if (this.#messages >= 0) this.#read();
    for (const file of [this.#fifo, this.#messages]) if (file >= 0) closeSync(file);
    this.#fifo = -1;
    this.#messages = -1;
  }

  #running(): RouterConfig {
    if (this.#config === undefined) throw new Error('the router was never started');
    return this.#config;
  }
}

function helperScript(fifo: string, messages: string): string {
  return lines(
    '#!/bin/sh',
    `cat "${fifo}" &`,
    'feeder=$!',
    `cat >>"${messages}"`,
    'kill "$feeder"',
    '',
  );
}

export function renderExabgp(config: RouterConfig, helper: string): string {
  return lines(
    `process table { run ${helper}; encoder json; }`,
    ...config.neighbours.map((neighbour) => renderNeighbour(config, neighbour)),
    '',
  );
}

function renderNeighbour(config: RouterConfig, neighbour: Neighbour): string {
  const announce = config.announce ?? [];
  const gtsm = neighbour.hasTtlSecurity === true;
  const ttl = neighbour.multihop;
  return lines(
    `neighbor ${neighbour.address} {`,
    `  router-id ${config.routerId};`,
    `  local-address ${neighbour.localAddress};`,
    `  local-as ${config.localAsn};`,
    `  peer-as ${neighbour.asn};`,
    `  hold-time ${neighbour.holdTimeSeconds ?? 9};`,
    neighbour.isPassive === true && '  passive true;',
    neighbour.port !== undefined && `  connect ${neighbour.port};`,
    neighbour.password !== undefined &&
      `  md5-password "${neighbour.password}";\n  md5-base64 false;`,
    gtsm && `  outgoing-ttl 255;\n  incoming-ttl ${256 - (ttl ?? 1)};`,
    !gtsm && ttl !== undefined && `  outgoing-ttl ${ttl};`,
    '  capability {',
    `    asn4 ${neighbour.isTwoOctet === true ? 'disable' : 'enable'};`,
    '    route-refresh enable;',
    // With the capability ExaBGP closes without a NOTIFICATION; it could not help a neighbour anyway.
    '    graceful-restart disable;',
    neighbour.addPath !== undefined && `    add-path ${exabgpAddPath[neighbour.addPath]};`,
    neighbour.hasExtendedNextHop === true && '    nexthop enable;',
    '  }',
    `  family { ${neighbour.families.map((family) => `${family} unicast;`).join(' ')} }`,
    neighbour.hasExtendedNextHop === true && '  nexthop { ipv4 unicast ipv6; }',
    '  api {',
    '    processes [ table ];',
    '    neighbor-changes;',
    '    receive { packets; parsed; update; notification; }',
    '  }',
    '  announce {',
    ...announce
      .filter((each) => neighbour.families.includes(familyOf(each.prefix)))
      .map((each) => `    ${familyOf(each.prefix)} { unicast ${routeLine(each)}; }`),
    '  }',
    '}',
  );
}

const exabgpAddPath = { receive: 'receive', send: 'send', both: 'send/receive' } as const;

function routeLine(announcement: Announcement): string {
  const { med, localPref } = announcement;
  const list = (name: string, values: readonly string[] | undefined) =>
    values === undefined ? [] : [`${name} [ ${values.join(' ')} ]`];
  return [
    `${announcement.prefix} next-hop self`,
    ...(med === undefined ? [] : [`med ${med}`]),
    ...(localPref === undefined ? [] : [`local-preference ${localPref}`]),
    ...list('as-path', announcement.prepend?.map(String)),
    ...list('community', announcement.communities),
    ...list('large-community', announcement.largeCommunities),
    ...list(
      'extended-community',
      announcement.extendedCommunities?.map((each) => each.replace(/^rt:/, 'target:')),
    ),
  ].join(' ');
}
