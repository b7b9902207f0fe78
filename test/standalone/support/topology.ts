/**
 * The network of the standalone tests: a client, a router, and three masters on links of their own, each a namespace. The router
 * sees three routed ports, as a switch does, so the kernel's multipath route has three real ways and each can fail by itself.
 *
 *   client 10.40.0.2 ── .1 router .1 ─┬─ 10.40.1.2 m1
 *                                     ├─ 10.40.2.2 m2     198.51.100.10 on each that can serve it
 *                                     └─ 10.40.3.2 m3
 */

import { join } from 'node:path';
import { createLab, type Host, type Lab } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import { apiPort, masterAsn, vip, vipPrefix } from './addresses.ts';
import { type Authority, createAuthority } from './certificates.ts';
import { writeDocuments } from './documents.ts';
import { createEdge, type EdgeKind, type EdgeRouter, kernelNextHops } from './edge-router.ts';
import { Master } from './master.ts';
import { Prober } from './prober.ts';
import { RouteWatch } from './route-watch.ts';

export type TopologyOptions = {
  readonly kind: EdgeKind;
  readonly masters?: number;
  /** BIRD takes a neighbour back a second after every error; for tests that make many. */
  readonly isForgiving?: boolean;
};

export class Topology {
  readonly kind: EdgeKind;
  readonly lab: Lab;
  readonly client: Host;
  readonly routerHost: Host;
  readonly edge: EdgeRouter;
  readonly masters: readonly Master[];
  readonly authority: Authority;

  constructor(parts: {
    kind: EdgeKind;
    lab: Lab;
    client: Host;
    routerHost: Host;
    edge: EdgeRouter;
    masters: readonly Master[];
    authority: Authority;
  }) {
    this.kind = parts.kind;
    this.lab = parts.lab;
    this.client = parts.client;
    this.routerHost = parts.routerHost;
    this.edge = parts.edge;
    this.masters = parts.masters;
    this.authority = parts.authority;
  }

  master(name: string): Master {
    const found = this.masters.find((each) => each.name === name);
    if (found === undefined) throw new Error(`no master ${name}`);
    return found;
  }

  /** The gateways that the router's kernel uses for a prefix. */
  kernelHops(prefix = vipPrefix): Promise<string[]> {
    return kernelNextHops(this.routerHost, prefix);
  }

  /** Both of the router's tables hold exactly the routes of these masters. */
  async routesOf(names: readonly string[], prefix = vipPrefix, timeoutMs = 20_000): Promise<void> {
    const wanted = names.map((name) => this.master(name).address).sort();
    const same = (seen: readonly string[]) => seen.join() === wanted.join();
    const bound = { timeoutMs, everyMs: 30 };
    const label = `${names.join(', ') || 'nobody'} for ${prefix} in ${this.kind}`;
    await untilValue(`${label}'s own table`, () => this.edge.announcers(prefix), same, bound);
    await untilValue(`${label}'s kernel`, () => this.kernelHops(prefix), same, bound);
  }

  /**
   * The sessions of these masters are up and old enough for their timers to be the negotiated ones: FRR 8.4 keeps the hold
   * timer of OpenSent until the second message, and a peer frozen before that would be missed for minutes.
   */
  async steady(names: readonly string[], ageMs = 1_500): Promise<void> {
    const wanted = names.map((name) => this.master(name).address);
    const isOld = (up: ReadonlyMap<string, number | undefined>) =>
      wanted.every((address) => (up.get(address) ?? 0) >= ageMs);
    const label = `sessions of ${names.join(', ')} are ${ageMs} ms old in ${this.kind}`;
    await untilValue(label, () => this.edge.established(), isOld, { timeoutMs: 20_000 });
  }

  probe(everyMs: number, seconds: number, by?: 'udp'): Promise<Prober> {
    const how = by === undefined ? {} : { by };
    return Prober.start(this.client, { address: vip, port: apiPort, everyMs, seconds, ...how });
  }

  watchRoutes(): Promise<RouteWatch> {
    return RouteWatch.start(this.routerHost);
  }

  destroy(): Promise<void> {
    return this.lab.destroy();
  }
}

export async function createTopology(options: TopologyOptions): Promise<Topology> {
  const { kind, masters: count = 3, isForgiving = false } = options;
  const lab = createLab(`t4${kind}`);
  const client = await lab.host('client', { forward: false });
  const routerHost = await lab.host('router', { forward: true });
  await lab.link(client, routerHost, { a: ['10.40.0.2/24'], b: ['10.40.0.1/24'] });
  await client.ip('route add default via 10.40.0.1');
  await client.exec('sysctl', ['-q', '-w', 'net.ipv4.ip_local_port_range=2000 65000']);
  const authority = await createAuthority(lab.folder);
  const masters: Master[] = [];
  for (let index = 1; index <= count; index += 1) {
    masters.push(await createMaster(lab, routerHost, authority, index));
  }
  const documents = join(lab.folder, 'documents');
  writeDocuments(documents, { router: gatewayOf(1), address: vip });
  const edge = createEdge(kind, routerHost, {
    documents,
    neighbourAsn: masterAsn,
    routerId: '10.40.0.1',
    neighbours: masters.map(({ address }) => address),
    isForgiving,
  });
  return new Topology({ kind, lab, client, routerHost, edge, masters, authority });
}

/** The router's address on the port of a master. */
const gatewayOf = (index: number) => `10.40.${index}.1`;

async function createMaster(
  lab: Lab,
  router: Host,
  authority: Authority,
  index: number,
): Promise<Master> {
  const name = `m${index}`;
  const [gateway, address] = [gatewayOf(index), `10.40.${index}.2`];
  const host = await lab.host(name, { forward: false });
  const link = await lab.link(router, host, { a: [`${gateway}/24`], b: [`${address}/24`] });
  await host.ip(`route add default via ${gateway}`);
  const keys = await authority.issue(name, ['127.0.0.1', address, vip]);
  const names = { routerDevice: link.a.name, device: link.b.name };
  return new Master({
    name,
    host,
    address,
    gateway,
    keys,
    ca: authority.certificate,
    ...names,
  });
}
