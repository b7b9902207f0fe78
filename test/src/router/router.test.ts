/** The router among speakers on the in-memory network: sessions in, routes out, the kernel beside it. */

import {
  type Address,
  address,
  type ConnectionHandlers,
  formatPrefix,
  MemoryNetwork,
  type Message,
  type PeerSettings,
  parseCommunity,
  prefix,
  type RouteAttributes,
  Speaker,
  type Transport,
} from 'bgp-ts';
import { expect } from 'chai';
import { PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import { encode } from '../../../protocol/bgp/encode.ts';
import type { RouterEvent } from '../../../src/router/events.ts';
import { Router, RouterError, type RouterSettings } from '../../../src/router/router.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryRouteTable } from '../../support/memory-route-table.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const ROUTER = address('192.0.2.1');
const VIP = '198.51.100.7/32';
const VIP6 = '2001:db8:7::7/128';
const DRAINED: RouteAttributes = { communities: [parseCommunity('graceful-shutdown') ?? 0] };

class Lab {
  readonly clock = new ManualClock();
  readonly network = new MemoryNetwork({ clock: this.clock, latencyMs: 1 });
  readonly kernel = new MemoryRouteTable();
  readonly events: RouterEvent[] = [];
  /** the router's is the first */
  readonly speakers: Speaker[] = [];
  readonly #hosts = new Map<string, Transport>();

  host(text: string): Transport {
    const host = this.#hosts.get(text) ?? this.network.host(address(text));
    this.#hosts.set(text, host);
    return host;
  }

  async run(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5) {
      this.clock.advance(5);
      for (let turn = 0; turn < 3; turn++) await Promise.resolve();
    }
  }

  router(over: Partial<RouterSettings> = {}): Router {
    const settings: RouterSettings = {
      listen: { port: 179 },
      asn: 64500,
      routerId: 1,
      neighborRanges: [prefix('192.0.2.0/24')],
      neighborAsn: 'external',
      holdSeconds: 9,
      ...over,
    };
    const router = new Router(settings, {
      clock: this.clock,
      createSpeaker: (listen) => this.#speaker('192.0.2.1', { listen }),
      isOwnAddress: () => false,
      kernel: { table: this.kernel, watch: () => () => undefined },
    });
    router.subscribe((event) => this.events.push(event));
    return router;
  }

  node(own: string, over: Partial<PeerSettings> = {}): Speaker {
    const number = Number(own.split('.').at(-1));
    const speaker = this.#speaker(own, {});
    const settings: PeerSettings = {
      name: 'router',
      address: ROUTER,
      localAsn: 64512,
      peerAsn: 64500,
      routerId: number,
      nextHop: { ipv6: v6(`2001:db8::${number}`) },
      ...over,
    };
    nodes.set(speaker, settings);
    return speaker;
  }

  of<K extends RouterEvent['kind']>(kind: K): (RouterEvent & { kind: K })[] {
    return this.events.filter((event): event is RouterEvent & { kind: K } => event.kind === kind);
  }

  #speaker(own: string, more: { listen?: { port: number } }): Speaker {
    const made = new Speaker({
      clock: this.clock,
      random: new SeededRandom(3),
      transport: this.host(own),
      interfaceAddresses: () => undefined,
      ...more,
    });
    this.speakers.push(made);
    return made;
  }
}

const nodes = new Map<Speaker, PeerSettings>();

function announce(node: Speaker, texts: readonly string[], attributes: RouteAttributes = {}): void {
  const settings = nodes.get(node);
  if (settings === undefined) throw new Error('not a node');
  const routes = texts.map((text) => ({ prefix: prefix(text), attributes }));
  node.apply({ peers: [{ settings, routes }] });
}

function v6(text: string): Address & { family: 'ipv6' } {
  const parsed = address(text);
  if (parsed.family !== 'ipv6') throw new Error(text);
  return parsed;
}

/** `198.51.100.7/32: 192.0.2.11* 192.0.2.12`, a star for those in use */
function table(router: Router): string[] {
  return router
    .routes()
    .map(({ prefix: to, nextHops }) =>
      [`${to}:`, ...nextHops.map((hop) => `${hop.address}${hop.best ? '*' : ''}`)].join(' '),
    );
}

function isOf(own: string) {
  return ({ peer }: { readonly peer: string }) => peer === own;
}

const hostsOf = (count: number) => Array.from({ length: count }, (_, at) => `192.0.2.${11 + at}`);
const prefixesOf = (count: number) =>
  Array.from({ length: count }, (_, at) => `203.0.${at >> 8}.${at & 255}/32`);

describe('the router', () => {
  it('shares between neighbours, in both families, and tells and installs it', async () => {
    const lab = new Lab();
    const router = lab.router();
    expect((await router.start()).port).to.equal(179);
    for (const own of ['192.0.2.11', '192.0.2.12']) announce(lab.node(own), [VIP, VIP6]);
    await lab.run(100);
    expect(table(router)).to.deep.equal([
      `${VIP}: 192.0.2.11* 192.0.2.12*`,
      `${VIP6}: 2001:db8::11* 2001:db8::12*`,
    ]);
    expect(router.routes()[0]).to.deep.equal({
      prefix: VIP,
      nextHops: [
        { address: '192.0.2.11', peer: '192.0.2.11', best: true },
        { address: '192.0.2.12', peer: '192.0.2.12', best: true },
      ],
    });
    expect(lab.kernel.table).to.deep.equal({
      [VIP]: ['192.0.2.11', '192.0.2.12'],
      [VIP6]: ['2001:db8::11', '2001:db8::12'],
    });
    expect(lab.of('peer-up')).to.deep.equal([
      { kind: 'peer-up', peer: '192.0.2.11', asn: 64512 },
      { kind: 'peer-up', peer: '192.0.2.12', asn: 64512 },
    ]);
    const [peer] = router.peers();
    expect(peer).to.include({ peer: '192.0.2.11', state: 'established', routes: 2, asn: 64512 });
  });

  it('puts what has changed into text for who reads it, once', async () => {
    const lab = new Lab();
    await lab.router().start();
    announce(lab.node('192.0.2.11'), [VIP]);
    await lab.run(100);
    const [event] = lab.of('routes');
    const { get } = Object.getOwnPropertyDescriptor(event, 'routes') ?? {};
    expect(get, 'made when it is read').to.be.a('function');
    expect(event?.routes).to.have.length(1);
    expect(event?.routes).to.equal(event?.routes);
  });

  it('leaves a drained next hop alone while there is another, then loses it without a gap', async () => {
    const lab = new Lab();
    const router = lab.router();
    await router.start();
    const [a, b] = [lab.node('192.0.2.11'), lab.node('192.0.2.12')];
    announce(a, [VIP]);
    announce(b, [VIP]);
    await lab.run(100);
    announce(a, [VIP], DRAINED);
    await lab.run(20);
    expect(table(router)).to.deep.equal([`${VIP}: 192.0.2.12* 192.0.2.11`]);
    expect(lab.kernel.table[VIP]).to.deep.equal(['192.0.2.12']);
    announce(a, []);
    await lab.run(20);
    expect(table(router)).to.deep.equal([`${VIP}: 192.0.2.12*`]);
    expect(lab.kernel.changes.filter((each) => each.endsWith('removed'))).to.deep.equal([]);
  });

  it('drops a neighbour that fell silent when its hold time is over, never with hold time 0', async () => {
    for (const holdSeconds of [3, 0]) {
      const lab = new Lab();
      const router = lab.router({ holdSeconds });
      await router.start();
      announce(lab.node('192.0.2.11'), [VIP]);
      await lab.run(100);
      lab.network.freeze(address('192.0.2.11'), ROUTER);
      await lab.run(30_000);
      expect(lab.kernel.table, `hold ${holdSeconds}`).to.deep.equal(
        holdSeconds === 0 ? { [VIP]: ['192.0.2.11'] } : {},
      );
    }
  });

  it('looks once at each prefix when all neighbours end in one turn, and writes each route once', async () => {
    const lab = new Lab();
    const router = lab.router();
    await router.start();
    const hosts = hostsOf(40);
    const prefixes = Array.from({ length: 20 }, (_, at) => `198.51.100.${at}/32`);
    for (const own of hosts) announce(lab.node(own), prefixes);
    await lab.run(2000);
    expect(router.routes().map(({ nextHops }) => nextHops.length)).to.deep.equal(
      prefixes.map(() => hosts.length),
    );
    const { attempts } = lab.kernel;
    lab.events.length = 0;
    for (const own of hosts.slice(1)) lab.network.resetConnections(address(own), ROUTER);
    lab.clock.advance(0);
    const told = lab.events.map(({ kind }) => kind).filter((kind) => kind !== 'kernel');
    const ends = hosts.slice(1).map(() => 'peer-down');
    expect(told, 'what it means, then why').to.deep.equal(['routes', ...ends]);
    expect(lab.kernel.attempts - attempts).to.equal(prefixes.length);
    const [left] = hosts;
    const wanted = prefixes.map((each) => [each, [left]]);
    expect(lab.kernel.table).to.deep.equal(Object.fromEntries(wanted));
  });

  it('looks at so many paths a turn, and at all in the end', async () => {
    const lab = new Lab();
    const router = lab.router();
    await router.start();
    const hosts = hostsOf(12);
    const prefixes = prefixesOf(1100);
    for (const own of hosts) announce(lab.node(own), prefixes);
    await lab.run(100);
    lab.events.length = 0;
    lab.network.resetConnections(address('192.0.2.11'), ROUTER);
    lab.clock.turn();
    lab.clock.turn();
    const first = lab.of('routes').flatMap(({ routes }) => routes);
    expect(first.length, 'of 1100 prefixes with 11 paths each').to.be.within(800, 1000);
    lab.clock.advance(0);
    expect(lab.of('routes').flatMap(({ routes }) => routes)).to.have.length(1100);
    expect(Object.values(lab.kernel.table).map(({ length }) => length)).to.deep.equal(
      prefixes.map(() => 11),
    );
  });

  it('takes new routes, lets go of old ones and tells ends while one neighbour changes all that it has in each turn', async () => {
    const lab = new Lab();
    const router = lab.router();
    await router.start();
    const hosts = hostsOf(12);
    const shared = prefixesOf(1100);
    const all = hosts.map((own) => lab.node(own));
    const [flooder, old, next, gone] = all;
    if (!(flooder && old && next && gone)) throw new Error('twelve nodes');
    for (const node of all) announce(node, node === old ? [VIP, ...shared] : shared);
    await lab.run(200);
    expect(lab.kernel.table[VIP]).to.deep.equal(['192.0.2.12']);
    // a turn takes a millisecond, in which the flooder says more than one turn looks at
    const startTimer = lab.clock.startTimer.bind(lab.clock);
    lab.clock.startTimer = (delayMs, callback) => startTimer(Math.max(delayMs, 1), callback);
    let med = 0;
    const turnsUntil = async (isDone: () => boolean) => {
      for (let turn = 0; turn < 100; turn += 1) {
        if (isDone()) return turn;
        med = (med + 1) % 2;
        announce(flooder, shared, { med });
        lab.clock.advance(1);
        for (let pass = 0; pass < 3; pass += 1) await Promise.resolve();
      }
      return Infinity;
    };
    await turnsUntil(() => med > 0);
    announce(old, shared);
    expect(await turnsUntil(() => lab.kernel.table[VIP] === undefined)).to.be.below(30);
    announce(next, [VIP, ...shared]);
    const hasMoved = () => lab.kernel.table[VIP]?.[0] === '192.0.2.13';
    expect(await turnsUntil(hasMoved), 'the next holder').to.be.below(30);
    lab.network.resetConnections(address('192.0.2.14'), ROUTER);
    const isTold = () => lab.of('peer-down').length > 0;
    expect(await turnsUntil(isTold), 'the end of a session').to.be.below(30);
    const hasOld = router.routes().some(({ nextHops }) => nextHops.some(isOf('192.0.2.14')));
    expect(hasOld, 'what it means, then why').to.equal(false);
  });

  it('cuts off one that announces too much, installs nothing of it, and holds it off', async () => {
    const lab = new Lab();
    const router = lab.router({ maxPrefixes: 2 });
    await router.start();
    announce(lab.node('192.0.2.11'), [VIP]);
    await lab.run(50);
    announce(lab.node('192.0.2.12'), [VIP, '198.51.100.8/32', '198.51.100.9/32']);
    await lab.run(2000);
    expect(table(router)).to.deep.equal([`${VIP}: 192.0.2.11*`]);
    expect(lab.of('peer-down').map(({ peer, reason }) => `${peer} ${reason}`)).to.match(/6\/1/);
    expect(lab.kernel.changes.some((each) => each.includes('192.0.2.12'))).to.equal(false);
    expect(lab.of('peer-up').filter(({ peer }) => peer === '192.0.2.12')).to.have.length(1);
  });

  it('takes no route of a family that was not agreed on, so that its limit holds for all that it has', async () => {
    const lab = new Lab();
    const router = lab.router({ maxPrefixes: 2 });
    await router.start();
    const handlers: ConnectionHandlers = {
      onOpen: () => undefined,
      onData: () => undefined,
      onProgress: () => undefined,
      onDrain: () => undefined,
      onClose: () => undefined,
    };
    const remote = { address: ROUTER, port: 179 };
    const wire = lab.host('192.0.2.11').dial({ remote, connectTimeoutMs: 1000 }, handlers);
    await lab.run(20);
    const say = (message: Message) => wire.write(encode(message, PLAIN_CONTEXT));
    const asn = 64512;
    const capabilities = [
      { kind: 'multiprotocol', afi: 1, safi: 1 },
      { kind: 'four-octet-asn', asn },
    ] as const;
    say({ kind: 'open', version: 4, asn, holdTimeSeconds: 90, routerId: 9, capabilities });
    await lab.run(20);
    say({ kind: 'keepalive' });
    await lab.run(20);
    const nlri = [7, 8, 9].map((last) => prefix(`2001:db8:7::${last}/128`));
    const mpReach = {
      kind: 'prefixes',
      afi: 2,
      safi: 1,
      nextHops: [v6('2001:db8::9')],
      nlri,
    } as const;
    const asPath = [{ type: 'sequence', asns: [asn] }] as const;
    const ipv4 = { nlri: [prefix(VIP)], withdrawn: [] };
    const attributes = { origin: 'igp', asPath, nextHop: address('192.0.2.11') } as const;
    say({ kind: 'update', ...ipv4, attributes: { ...attributes, mpReach } } as Message);
    await lab.run(50);
    expect(router.peers().map(({ state }) => state)).to.deep.equal(['established']);
    expect(table(router)).to.deep.equal([`${VIP}: 192.0.2.11*`]);
  });

  it('says why a neighbour is refused', async () => {
    const lab = new Lab();
    const router = lab.router({ neighborAsn: 64999 });
    await router.start();
    announce(lab.node('192.0.2.11'), []);
    announce(lab.node('198.51.100.1'), []);
    await lab.run(100);
    const said = lab.of('refused').map(({ remote, reason }) => `${remote}: ${reason}`);
    expect(said.join('\n')).to.match(/192\.0\.2\.11: .*AS 64512, expected 64999/);
    expect(said.join('\n')).to.match(/198\.51\.100\.1: no neighbour range/);
    expect(lab.of('peer-down')).to.deep.equal([]);
  });

  it('says which routes it drops, and why', async () => {
    const lab = new Lab();
    const router = lab.router();
    await router.start();
    const node = lab.node('192.0.2.11');
    announce(node, [VIP, '198.51.100.8/32'], { asPath: [{ type: 'sequence', asns: [64500] }] });
    await lab.run(50);
    expect(lab.of('rejected')).to.deep.equal([
      {
        kind: 'rejected',
        peer: '192.0.2.11',
        prefixes: [VIP, '198.51.100.8/32'],
        count: 2,
        reason: 'our AS 64500 is in its path already',
      },
    ]);
    announce(node, [VIP], { nextHop: ROUTER });
    await lab.run(50);
    expect(lab.of('rejected').at(-1)?.reason).to.equal('its next hop 192.0.2.1 is our own address');
    announce(node, [VIP]);
    await lab.run(50);
    expect(lab.of('rejected')).to.have.length(2);
    expect(router.peers()[0]?.rejected).to.equal(3);
  });

  it('holds no attributes of what it is told, however long (A18)', async () => {
    const lab = new Lab();
    const router = lab.router();
    await router.start();
    const node = lab.node('192.0.2.11');
    const asns = Array.from({ length: 200 }, (_, at) => 65000 + (at % 500));
    announce(node, [VIP], { asPath: [{ type: 'sequence', asns }], communities: [1, 2, 3] });
    await lab.run(50);
    expect(table(router)).to.deep.equal([`${VIP}: 192.0.2.11*`]);
    const [speaker] = lab.speakers;
    const held = speaker?.receivedRoutes('range0/192.0.2.11') ?? [];
    expect(held.map(({ prefix: to }) => formatPrefix(to))).to.deep.equal([VIP]);
    expect(held[0]?.attributes).to.deep.equal({});
    // and chooses by them all the same
    announce(lab.node('192.0.2.12'), [VIP]);
    await lab.run(50);
    expect(table(router)).to.deep.equal([`${VIP}: 192.0.2.12* 192.0.2.11`]);
  });

  it('shows what the kernel refuses beside the route', async () => {
    const lab = new Lab();
    lab.kernel.reachable = new Set();
    const router = lab.router();
    await router.start();
    announce(lab.node('192.0.2.11'), [VIP]);
    await lab.run(50);
    expect(router.routes()[0]?.problem).to.match(/cannot install 198\.51\.100\.7\/32/);
    lab.kernel.reachable.add('192.0.2.11');
    await lab.run(1000);
    expect(router.routes()[0]).to.not.have.property('problem');
  });

  it('says goodbye, then clears the kernel', async () => {
    const lab = new Lab();
    const router = lab.router();
    await router.start();
    const node = lab.node('192.0.2.11');
    const heard: string[] = [];
    node.subscribe((event) => {
      if (event.kind === 'notification-received') heard.push(`${event.subcode} ${event.text}`);
    });
    announce(node, [VIP]);
    await lab.run(50);
    const [problem] = await Promise.all([router.stop('maintenance'), lab.run(3000)]);
    expect(problem).to.equal(undefined);
    expect(heard).to.deep.equal(['2 maintenance']);
    expect(lab.kernel.table).to.deep.equal({});
    expect(lab.kernel.isClosed).to.equal(true);
  });

  it('does not start on a port that is taken, and leaves the kernel to whoever has it', async () => {
    const lab = new Lab();
    const first = lab.router();
    await first.start();
    announce(lab.node('192.0.2.11'), [VIP]);
    await lab.run(50);
    const error = await lab
      .router()
      .start()
      .catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(RouterError);
    expect(lab.kernel.list().map((route) => formatPrefix(route.prefix))).to.deep.equal([VIP]);
  });
});
