/** A router and two nodes on one segment, with the router's file as `herald manifest router` prints it and `herald announce` as the nodes. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Family } from '../interop/routers/router.ts';
import {
  documentsFolder,
  peerDocument,
  poolDocument,
  runManifest,
} from '../support/manifest-run.ts';
import { createLab, type Host, type Lab } from '../support/netns.ts';
import { untilValue } from '../support/poll.ts';
import type { Running } from '../support/process.ts';
import { createLoaded, type LoadedKind, type LoadedRouter } from './manifest-router-daemons.ts';

export const launcher = join(import.meta.dirname, '../../src/cli/herald');
export const routerAsn = 64500;
export const nodeAsn = 64512;
export const key = 'n0t-guessed';

export interface RouterDocuments {
  readonly password?: string;
  readonly ttlSecurity?: boolean;
  readonly maxRoutes?: number;
  readonly holdSeconds?: number;
  /** AS numbers of nodes that do not have `nodeAsn` */
  readonly otherAsns?: readonly number[];
}

/** What `herald manifest router` prints for these documents and flags. */
export async function routerFile(
  kind: LoadedKind,
  {
    password,
    ttlSecurity = false,
    maxRoutes = 20,
    holdSeconds = 9,
    otherAsns = [],
  }: RouterDocuments,
  ...flags: readonly string[]
): Promise<string> {
  const peer = {
    ...{ address: '10.0.0.1', asn: routerAsn, localASN: nodeAsn, families: ['ipv4', 'ipv6'] },
    ...{ maxRoutes, ttlSecurity, timers: { holdSeconds } },
    overrides: otherAsns.map((localASN) => ({
      ...{ nodeSelector: { matchLabels: { rack: `of-${localASN}` } }, localASN },
    })),
    ...(password === undefined ? {} : { password: { file: '/etc/herald/absent/bgp.key' } }),
  };
  // not a CIDR, so that the split is part of what the routers judge
  const pool = { addresses: ['192.0.2.8-192.0.2.100', '2001:db8:1::/120'] };
  const folder = documentsFolder({
    'net.yaml': peerDocument('tor', peer) + poolDocument('vips', pool),
    ...(password === undefined ? {} : { 'bgp.key': `${password}\n` }),
  });
  const args = ['router', '--for', kind, '--source', `files:${folder}`, ...flags];
  const { status, stdout, stderr } = await runManifest(...args);
  if (status !== 0) throw new Error(`herald manifest: ${stderr}`);
  return stdout;
}

export class RouterLab {
  readonly lab: Lab;
  readonly router: LoadedRouter;
  readonly host: Host;
  readonly #switch: Host;

  private constructor(lab: Lab, router: LoadedRouter, host: Host, bridge: Host) {
    this.lab = lab;
    this.router = router;
    this.host = host;
    this.#switch = bridge;
  }

  static async start(kind: LoadedKind, config: string): Promise<RouterLab> {
    const made = await RouterLab.create(kind);
    await made.router.start(made.host, config);
    return made;
  }

  /** The segment and the router's machine; the router itself is started by whoever decides when. */
  static async create(kind: LoadedKind): Promise<RouterLab> {
    const lab = createLab('mf');
    const host = await lab.host('r', { forward: true });
    const bridge = await lab.host('s', { forward: false });
    await bridge.ip('link add br0 type bridge', 'link set br0 up');
    const made = new RouterLab(lab, createLoaded(kind), host, bridge);
    await made.plug(host, 1);
    return made;
  }

  /** A machine on the segment: 10.0.0.N and 2001:db8::N. */
  async node(number: number, forward = false): Promise<Host> {
    const host = await this.lab.host(`n${number}`, { forward });
    await this.plug(host, number);
    return host;
  }

  announce(host: Host, name: string, ...args: readonly string[]): Running {
    return this.announceTo('10.0.0.1', host, name, ...args);
  }

  announceTo(address: string, host: Host, name: string, ...args: readonly string[]): Running {
    const peer = ['--peer', address, '--peer-asn', String(routerAsn), '--asn', String(nodeAsn)];
    return host.spawn(name, launcher, ['announce', ...peer, ...args]);
  }

  /** flags that make an announcer sign with this key */
  signed(password: string): string[] {
    const file = join(this.lab.folder, `key-${password}`);
    writeFileSync(file, `${password}\n`, { mode: 0o600 });
    return ['--password-file', file];
  }

  /** The table as sorted `prefix nextHop` lines, once it is as it should be, or as it was last. */
  async table(family: Family, expected: readonly string[], timeoutMs = 90_000): Promise<string[]> {
    const read = async () =>
      (await this.router.paths(family)).map((path) => `${path.prefix} ${path.nextHop}`).toSorted();
    const wanted = expected.toSorted().join();
    const is = (lines: readonly string[]) => lines.join() === wanted;
    return untilValue(`the ${family} table of ${this.router.kind}`, read, is, { timeoutMs });
  }

  /** Next hops of a prefix in the router's kernel. */
  async kernelHops(address: string): Promise<string[]> {
    const family = address.includes(':') ? '-6' : '-4';
    const { stdout } = await this.host.exec('ip', [family, 'route', 'show', address]);
    return [...stdout.matchAll(/via (\S+)/g)].map((match) => match[1] ?? '').toSorted();
  }

  async plug(host: Host, number: number): Promise<void> {
    const addresses = [`10.0.0.${number}/24`, `2001:db8::${number}/64`];
    const link = await this.lab.link(host, this.#switch, { a: addresses, b: [] });
    await this.#switch.ip(`link set ${link.b.name} master br0`);
  }
}
