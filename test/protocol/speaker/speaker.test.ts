/** Speakers against each other on the in-memory network: time stands still until a test moves it. */

import { expect } from 'chai';
import type { Route } from '../../../protocol/bgp/route.ts';
import { MemoryNetwork } from '../../../protocol/io/memory-transport.ts';
import type { Transport } from '../../../protocol/io/transport.ts';
import type { Address } from '../../../protocol/net/address.ts';
import { formatPrefix } from '../../../protocol/net/address-text.ts';
import { ipv4, ipv6, prefix } from '../../../protocol/net/literal.ts';
import type { PeerStatus, SpeakerEvent } from '../../../protocol/speaker/events.ts';
import type { PeerSettings } from '../../../protocol/speaker/settings.ts';
import { Speaker } from '../../../protocol/speaker/speaker.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const ROUTER = ipv4('192.0.2.1');
const NODE = ipv4('192.0.2.2');
const OTHER = ipv4('192.0.2.3');
const PORT = 179;

class Machine {
  /** its interfaces cannot be read */
  isBroken = false;
  readonly events: SpeakerEvent[] = [];
  readonly speaker: Speaker;

  constructor(
    lab: Lab,
    address: Address,
    options: { listen?: boolean; restarting?: boolean } = {},
  ) {
    this.speaker = new Speaker({
      clock: lab.clock,
      random: new SeededRandom(address.family === 'ipv4' ? address.bits : 1),
      transport: lab.host(address),
      interfaceAddresses: () => {
        if (this.isBroken) throw new Error('no descriptor is left');
        return {
          name: 'eth0',
          ipv4: [],
          ipv6: [ipv6('2001:db8::2')],
          linkLocal: [ipv6('fe80::2')],
        };
      },
      ...(options.listen === true ? { listen: { port: PORT } } : {}),
      restarting: options.restarting === true,
    });
    this.speaker.subscribe((event) => this.events.push(event));
  }

  peer(name: string): PeerStatus {
    const status = this.speaker.status().find((each) => each.name === name);
    if (status === undefined) throw new Error(`no peer ${name}`);
    return status;
  }

  of<K extends SpeakerEvent['kind']>(kind: K): (SpeakerEvent & { kind: K })[] {
    return this.events.filter((event): event is SpeakerEvent & { kind: K } => event.kind === kind);
  }

  /** prefixes that came and were not withdrawn again, as the UPDATEs told */
  table(): string[] {
    const table = new Set<string>();
    for (const { update } of this.of('update-received')) {
      const { mpReach, mpUnreach } = update.attributes;
      for (const each of update.withdrawn) table.delete(formatPrefix(each));
      if (mpUnreach?.kind === 'prefixes') {
        for (const each of mpUnreach.withdrawn) table.delete(formatPrefix(each));
      }
      for (const each of update.nlri) table.add(formatPrefix(each));
      if (mpReach?.kind === 'prefixes')
        for (const each of mpReach.nlri) table.add(formatPrefix(each));
    }
    return [...table].toSorted();
  }
}

class Lab {
  readonly clock = new ManualClock();
  readonly network = new MemoryNetwork({ clock: this.clock, latencyMs: 1 });

  readonly #hosts = new Map<Address, Transport>();

  /** two machines on one address are two processes on one host */
  host(address: Address): Transport {
    const host = this.#hosts.get(address) ?? this.network.host(address);
    this.#hosts.set(address, host);
    return host;
  }

  /** lets promises and timers run for this long, in small steps */
  async run(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5) {
      this.clock.advance(5);
      for (let turn = 0; turn < 3; turn++) await Promise.resolve();
    }
  }
}

function toNode(over: Partial<PeerSettings> = {}): PeerSettings {
  return {
    name: 'node',
    address: NODE,
    localAsn: 64500,
    peerAsn: 64512,
    routerId: 1,
    passive: true,
    ...over,
  };
}

function toRouter(over: Partial<PeerSettings> = {}): PeerSettings {
  return {
    name: 'router',
    address: ROUTER,
    localAsn: 64512,
    peerAsn: 64500,
    routerId: 2,
    ...over,
  };
}

function routes(...texts: string[]): Route[] {
  return texts.map((text) => ({ prefix: prefix(text), attributes: {} }));
}

async function pair(lab: Lab, settings: Partial<PeerSettings> = {}) {
  const router = new Machine(lab, ROUTER, { listen: true });
  const node = new Machine(lab, NODE);
  await router.speaker.start();
  router.speaker.apply({ peers: [{ settings: toNode(), routes: [] }] });
  node.speaker.apply({
    peers: [{ settings: toRouter(settings), routes: routes('198.51.100.7/32', '2001:db8:7::/48') }],
  });
  await lab.run(100);
  return { router, node };
}

describe('a speaker', () => {
  it('announces the whole set on Established, both families over one session', async () => {
    const lab = new Lab();
    const { router, node } = await pair(lab);
    expect(node.peer('router').state).to.equal('established');
    expect(router.table()).to.deep.equal(['198.51.100.7/32', '2001:db8:7::/48']);
    expect(node.peer('router').routesAdvertised).to.deep.equal({ ipv4: 1, ipv6: 1 });
    expect(node.of('routes-synced')).to.have.length(1);
    expect(router.peer('node').counters.routesRejected).to.equal(2);
  });

  it('sends nothing for the same wishes twice, and only the difference for new ones', async () => {
    const lab = new Lab();
    const { router, node } = await pair(lab);
    const before = node.peer('router').counters.messagesSent;
    node.speaker.apply({
      peers: [{ settings: toRouter(), routes: routes('198.51.100.7/32', '2001:db8:7::/48') }],
    });
    await lab.run(100);
    expect(node.peer('router').counters.messagesSent).to.equal(before);
    expect(node.of('routes-synced')).to.have.length(1);
    node.speaker.apply({
      peers: [{ settings: toRouter(), routes: routes('198.51.100.7/32', '198.51.100.8/32') }],
    });
    await lab.run(100);
    expect(router.table()).to.deep.equal(['198.51.100.7/32', '198.51.100.8/32']);
    expect(node.peer('router').counters.messagesSent).to.equal(before + 2);
    expect(node.of('established')).to.have.length(1);
  });

  it('refuses the one neighbour that no OPEN can be made for; what is withdrawn from the others goes out', async () => {
    const lab = new Lab();
    const { router, node } = await pair(lab);
    const wrong = toRouter({ name: 'wrong', gracefulRestart: { restartSeconds: 5000 } });
    const refused = node.speaker.apply({
      peers: [
        { settings: wrong, routes: [] },
        { settings: toRouter(), routes: routes('2001:db8:7::/48') },
      ],
    });
    expect(refused.map(({ name }) => name)).to.deep.equal(['wrong']);
    expect(refused[0]?.sentence).to.match(/^neighbour wrong: a restart time is 0 to 4095/);
    await lab.run(100);
    expect(node.speaker.status().map(({ name }) => name)).to.deep.equal(['router']);
    expect(node.of('established')).to.have.length(1);
    expect(router.table()).to.deep.equal(['2001:db8:7::/48']);
  });

  it('ends the session of a neighbour whose new settings cannot be had: what was announced does not stay', async () => {
    const lab = new Lab();
    const { router, node } = await pair(lab);
    const settings = toRouter({ gracefulRestart: { restartSeconds: 5000 } });
    expect(node.speaker.apply({ peers: [{ settings, routes: [] }] })).to.have.length(1);
    await lab.run(100);
    const [cease] = router.of('notification-received');
    expect([cease?.code, cease?.subcode]).to.deep.equal([6, 3]);
    expect(node.speaker.status()).to.deep.equal([]);
  });

  it('withdraws although the addresses of the machine cannot be read, and keeps the next hop', async () => {
    const lab = new Lab();
    const { router, node } = await pair(lab);
    node.isBroken = true;
    node.speaker.apply({ peers: [{ settings: toRouter(), routes: routes('2001:db8:7::/48') }] });
    expect(() => lab.clock.advance(0)).to.throw('no descriptor is left');
    await lab.run(100);
    expect(router.table()).to.deep.equal(['2001:db8:7::/48']);
    expect(node.of('established')).to.have.length(1);
  });

  it('re-sends under the running session when a next hop is changed', async () => {
    const lab = new Lab();
    const { router, node } = await pair(lab);
    const settings = toRouter({ nextHop: { ipv4: ipv4('192.0.2.99') } });
    node.speaker.apply({ peers: [{ settings, routes: routes('198.51.100.7/32') }] });
    await lab.run(100);
    const last = router.of('update-received').findLast(({ update }) => update.nlri.length > 0);
    expect(last?.update.attributes.nextHop).to.deep.equal(ipv4('192.0.2.99'));
    expect(node.of('established')).to.have.length(1);
  });

  it('restarts only the session whose AS number, families or password changed', async () => {
    const lab = new Lab();
    const router = new Machine(lab, ROUTER, { listen: true });
    const other = new Machine(lab, OTHER, { listen: true });
    const node = new Machine(lab, NODE);
    await Promise.all([router.speaker.start(), other.speaker.start()]);
    router.speaker.apply({ peers: [{ settings: toNode({ peerAsn: 'external' }), routes: [] }] });
    other.speaker.apply({ peers: [{ settings: toNode({ localAsn: 64501 }), routes: [] }] });
    const toOther = toRouter({ name: 'other', address: OTHER, peerAsn: 64501 });
    const first = { settings: toOther, routes: routes('198.51.100.7/32') };
    node.speaker.apply({ peers: [{ settings: toRouter(), routes: [] }, first] });
    await lab.run(100);
    const untouched = node.peer('other').counters;
    node.speaker.apply({ peers: [{ settings: toRouter({ localAsn: 64999 }), routes: [] }, first] });
    await lab.run(6000);
    expect(
      router.of('notification-received').map(({ code, subcode }) => [code, subcode]),
    ).to.deep.equal([[6, 6]]);
    expect(node.peer('router').state).to.equal('established');
    expect(other.of('notification-received')).to.deep.equal([]);
    expect(node.peer('other').counters.establishedCount).to.equal(untouched.establishedCount);
    node.speaker.apply({ peers: [first] });
    await lab.run(100);
    expect(router.of('notification-received').at(-1)).to.include({ code: 6, subcode: 3 });
    expect(node.speaker.status().map(({ name }) => name)).to.deep.equal(['other']);
    expect(other.table()).to.deep.equal(['198.51.100.7/32']);
  });

  it('goes on with a session that gets another name, and with no other than the same', async () => {
    const lab = new Lab();
    const { router, node } = await pair(lab);
    const told = router.events.length;
    const renamed = { settings: toRouter({ name: 'tor' }), routes: routes('198.51.100.9/32') };
    node.speaker.apply({ peers: [renamed] });
    await lab.run(100);
    expect(node.speaker.status().map(({ name, state }) => [name, state])).to.deep.equal([
      ['tor', 'established'],
    ]);
    expect(router.table()).to.deep.equal(['198.51.100.9/32']);
    expect(router.of('notification-received')).to.deep.equal([]);
    expect(router.events.slice(told).some(({ kind }) => kind === 'down')).to.equal(false);
    const another = { ...renamed, settings: toRouter({ name: 'spine', localAsn: 64999 }) };
    node.speaker.apply({ peers: [another] });
    await lab.run(100);
    expect(router.of('notification-received').at(-1)).to.include({ code: 6, subcode: 3 });
  });

  it('goes away: withdraws, then Cease with its text, then nothing is left', async () => {
    const lab = new Lab();
    const { router, node } = await pair(lab);
    const stopped = node.speaker.stop({ kind: 'shutdown', text: 'maintenance', deadlineMs: 1000 });
    await lab.run(200);
    await stopped;
    const kinds = router.events.map((event) => event.kind);
    expect(router.table()).to.deep.equal([]);
    expect(kinds.lastIndexOf('update-received')).to.be.lessThan(
      kinds.indexOf('notification-received'),
    );
    expect(router.of('notification-received')[0]).to.include({
      code: 6,
      subcode: 2,
      text: 'maintenance',
    });
    await router.speaker.stop({ kind: 'shutdown', deadlineMs: 1 });
    expect(lab.network.connectionCount).to.equal(0);
    expect(lab.clock.pendingTimers).to.equal(0);
  });

  for (const [when, calmMs] of [
    ['at once', 0],
    ['after the farewell was made', 2000],
    ['with a change on its way', -1],
  ] as const) {
    it(`takes back exactly what it told when it is stopped ${when}`, async () => {
      const lab = new Lab();
      const { router, node } = await pair(lab);
      await lab.run(calmMs);
      if (calmMs < 0) {
        node.speaker.apply({
          peers: [{ settings: toRouter(), routes: routes('198.51.100.8/32', '2001:db8:7::/48') }],
        });
      }
      const heard = router.of('update-received').length;
      const stopped = node.speaker.stop({ kind: 'shutdown', deadlineMs: 1000 });
      await lab.run(200);
      await stopped;
      const withdrawn = router
        .of('update-received')
        .slice(heard)
        .flatMap(({ update: { withdrawn: classic, attributes } }) => {
          const { mpUnreach } = attributes;
          return [...classic, ...(mpUnreach?.kind === 'prefixes' ? mpUnreach.withdrawn : [])];
        });
      expect(router.table()).to.deep.equal([]);
      const told = calmMs < 0 ? ['198.51.100.7/32', '198.51.100.8/32'] : ['198.51.100.7/32'];
      expect(withdrawn.map(formatPrefix).toSorted()).to.deep.equal([...told, '2001:db8:7::/48']);
      expect(node.of('routes-synced').at(-1)?.routes).to.deep.equal({ ipv4: 0, ipv6: 0 });
      expect(router.of('notification-received')).to.have.length(1);
    });
  }

  it('restarts as planned: closes without a word, and comes back with the R bit until End-of-RIB', async () => {
    const lab = new Lab();
    const { router, node } = await pair(lab, { gracefulRestart: { restartSeconds: 30 } });
    const stopped = node.speaker.stop({ kind: 'restart' });
    await lab.run(100);
    await stopped;
    expect(router.of('notification-received')).to.deep.equal([]);
    expect(router.of('update-received').at(-1)?.update.withdrawn).to.deep.equal([]);
    const again = new Machine(lab, NODE, { restarting: true });
    const settings = toRouter({ gracefulRestart: { restartSeconds: 30 } });
    again.speaker.apply({ peers: [{ settings, routes: [] }] });
    await lab.run(100);
    const said = router.of('established').map(({ negotiated }) => negotiated.peerGracefulRestart);
    expect(said.map((capability) => capability?.restarting)).to.deep.equal([false, true]);
    expect(said.map((capability) => capability?.notification)).to.deep.equal([false, false]);
    expect(said[1]?.families.every(({ forwarding }) => forwarding)).to.equal(true);
    lab.network.resetConnections(ROUTER, NODE);
    await lab.run(8000);
    expect(router.of('established').at(-1)?.negotiated.peerGracefulRestart?.restarting).to.equal(
      false,
    );
  });

  it('says the R bit to nobody after the restart: not in a session that is made anew, not to who comes later', async () => {
    const lab = new Lab();
    const router = new Machine(lab, ROUTER, { listen: true });
    await router.speaker.start();
    router.speaker.apply({ peers: [{ settings: toNode(), routes: [] }] });
    const node = new Machine(lab, NODE, { restarting: true });
    const settings = toRouter({ gracefulRestart: { restartSeconds: 30 } });
    const said = () =>
      router
        .of('established')
        .map(({ negotiated }) => negotiated.peerGracefulRestart?.restarting === true);
    node.speaker.apply({ peers: [{ settings, routes: [] }] });
    await lab.run(100);
    // edited: another driver, to a neighbour that has our End-of-RIB
    const edited = { ...settings, timers: { holdSeconds: 12 } };
    node.speaker.apply({ peers: [{ settings: edited, routes: [] }] });
    await lab.run(10_000);
    expect(said()).to.deep.equal([true, false]);
    const stopped = node.speaker.stop({ kind: 'restart' });
    await lab.run(100);
    await stopped;
    const again = new Machine(lab, NODE, { restarting: true });
    await lab.run(31_000);
    again.speaker.apply({ peers: [{ settings, routes: [] }] });
    await lab.run(10_000);
    expect(said().slice(2)).to.deep.equal([false]);
  });

  it('says that the port is taken, goes on dialling, and listens when it is free', async () => {
    const lab = new Lab();
    const { router } = await pair(lab);
    const late = new Machine(lab, ROUTER, { listen: true });
    await late.speaker.start();
    expect(late.of('listen-failed')[0]?.error.code).to.equal('ADDRESS_IN_USE');
    void router.speaker.stop({ kind: 'shutdown', deadlineMs: 10 });
    await lab.run(8000);
    expect(late.of('listening')).to.have.length(1);
  });

  it('refuses connections from strangers', async () => {
    const lab = new Lab();
    const { router } = await pair(lab);
    const stranger = new Machine(lab, OTHER);
    stranger.speaker.apply({ peers: [{ settings: toRouter(), routes: [] }] });
    await lab.run(100);
    expect(router.of('connection-refused').map(({ remote }) => remote.address)).to.deep.equal([
      OTHER,
    ]);
    expect(stranger.of('established')).to.deep.equal([]);
  });

  it('keeps routes where it is told to, and ends the session of a neighbour that sends too many', async () => {
    const lab = new Lab();
    const router = new Machine(lab, ROUTER, { listen: true });
    const node = new Machine(lab, NODE);
    await router.speaker.start();
    const inbound = { kind: 'keep', maxPrefixes: 2 } as const;
    router.speaker.apply({ peers: [{ settings: toNode({ inbound }), routes: [] }] });
    node.speaker.apply({
      peers: [{ settings: toRouter(), routes: routes('10.0.0.1/32', '10.0.0.2/32') }],
    });
    await lab.run(100);
    expect(router.peer('node').routesHeld).to.equal(2);
    const kept = router.speaker.receivedRoutes('node').map((route) => formatPrefix(route.prefix));
    expect(kept).to.deep.equal(['10.0.0.1/32', '10.0.0.2/32']);
    node.speaker.apply({
      peers: [
        { settings: toRouter(), routes: routes('10.0.0.1/32', '10.0.0.2/32', '10.0.0.3/32') },
      ],
    });
    await lab.run(100);
    expect(node.of('notification-received')[0]).to.include({ code: 6, subcode: 1 });
    expect(router.peer('node').routesHeld).to.equal(0);
  });

  it('finds its neighbour in any order of starting, and again after silence and resets', async () => {
    const lab = new Lab();
    const node = new Machine(lab, NODE);
    node.speaker.apply({ peers: [{ settings: toRouter(), routes: routes('198.51.100.7/32') }] });
    await lab.run(20_000);
    expect(node.peer('router').lastError).to.include('cannot connect to 192.0.2.1:179');
    const router = new Machine(lab, ROUTER, { listen: true });
    await router.speaker.start();
    router.speaker.apply({ peers: [{ settings: toNode(), routes: [] }] });
    await lab.run(6000);
    expect(node.peer('router').state).to.equal('established');
    lab.network.freeze(ROUTER, NODE);
    await lab.run(10_000);
    expect(node.of('notification-sent').at(-1)).to.include({ code: 4, subcode: 0 });
    lab.network.thaw(ROUTER, NODE);
    await lab.run(20_000);
    expect(node.peer('router').state).to.equal('established');
    expect(router.table()).to.deep.equal(['198.51.100.7/32']);
  });
});

describe('a speaker whose user makes mistakes', () => {
  it('goes on when a subscriber throws, tells the others, and lets the error out', async () => {
    const lab = new Lab();
    const router = new Machine(lab, ROUTER, { listen: true });
    const node = new Machine(lab, NODE);
    await router.speaker.start();
    router.speaker.apply({ peers: [{ settings: toNode(), routes: [] }] });
    let isFirst = true;
    node.speaker.subscribe(() => {
      if (isFirst) {
        isFirst = false;
        throw new Error('a mistake of the subscriber');
      }
    });
    const later: string[] = [];
    node.speaker.subscribe(({ kind }) => later.push(kind));
    node.speaker.apply({ peers: [{ settings: toRouter(), routes: routes('198.51.100.7/32') }] });
    expect(later).to.deep.equal(['transition']);
    const heard = await lab.run(100).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(heard).to.be.an('error').with.property('message', 'a mistake of the subscriber');
    await lab.run(100);
    expect(node.peer('router').state).to.equal('established');
    expect(router.table()).to.deep.equal(['198.51.100.7/32']);
  });

  it('obeys what is wished from within an event, and nothing older', async () => {
    const lab = new Lab();
    const node = new Machine(lab, NODE);
    let isFirst = true;
    node.speaker.subscribe(() => {
      if (!isFirst) return;
      isFirst = false;
      node.speaker.apply({ peers: [{ settings: toRouter({ name: 'third' }), routes: [] }] });
    });
    const wishes = ['first', 'second'].map((name) => ({
      settings: toRouter({ name }),
      routes: [],
    }));
    node.speaker.apply({ peers: wishes });
    await lab.run(100);
    expect(node.speaker.status().map(({ name }) => name)).to.deep.equal(['third']);
  });

  it('stops from within an event and leaves nothing behind', async () => {
    for (const kind of ['transition', 'established', 'routes-synced', 'down'] as const) {
      const lab = new Lab();
      const router = new Machine(lab, ROUTER, { listen: true });
      const node = new Machine(lab, NODE);
      await router.speaker.start();
      router.speaker.apply({ peers: [{ settings: toNode(), routes: [] }] });
      let stopped: Promise<void> | undefined;
      node.speaker.subscribe((event) => {
        if (event.kind !== kind) return;
        stopped ??= node.speaker.stop({ kind: 'shutdown', deadlineMs: 100 });
      });
      const absent = toRouter({ name: 'absent', address: OTHER });
      node.speaker.apply({
        peers: [
          { settings: toRouter(), routes: routes('198.51.100.7/32') },
          { settings: absent, routes: [] },
        ],
      });
      await lab.run(20_000);
      expect(stopped, kind).to.be.a('promise');
      await Promise.all([stopped, router.speaker.stop({ kind: 'restart' })]);
      expect(node.speaker.status(), kind).to.deep.equal([]);
      expect(lab.network.connectionCount, kind).to.equal(0);
      expect(lab.clock.pendingTimers, kind).to.equal(0);
    }
  });

  it('sees a change although the caller changed its own object', async () => {
    const lab = new Lab();
    const { node } = await pair(lab);
    const settings = { ...toRouter(), nextHop: { ipv4: ipv4('192.0.2.2') } };
    node.speaker.apply({ peers: [{ settings, routes: [] }] });
    settings.name = 'renamed';
    settings.nextHop.ipv4 = ipv4('192.0.2.9');
    expect(node.speaker.status().map(({ name }) => name)).to.deep.equal(['router']);
    node.speaker.apply({ peers: [{ settings, routes: [] }] });
    await lab.run(100);
    expect(node.speaker.status().map(({ name }) => name)).to.deep.equal(['renamed']);
    node.speaker.apply({ peers: [] });
    await lab.run(10_000);
    expect(node.speaker.status()).to.deep.equal([]);
    expect(lab.network.connectionCount).to.equal(0);
  });

  it('knows a neighbour that is written as an IPv4-mapped address', async () => {
    const lab = new Lab();
    const router = new Machine(lab, ROUTER, { listen: true });
    const node = new Machine(lab, NODE);
    await router.speaker.start();
    const mapped = toNode({ address: ipv6('::ffff:192.0.2.2') });
    router.speaker.apply({ peers: [{ settings: mapped, routes: [] }] });
    node.speaker.apply({ peers: [{ settings: toRouter(), routes: [] }] });
    await lab.run(100);
    expect(node.peer('router').state).to.equal('established');
  });

  it('does not try to listen again after it was stopped', async () => {
    const lab = new Lab();
    const router = new Machine(lab, ROUTER, { listen: true });
    await router.speaker.start();
    const late = new Machine(lab, ROUTER, { listen: true });
    const started = late.speaker.start();
    await late.speaker.stop({ kind: 'restart' });
    await started;
    expect(lab.clock.pendingTimers).to.equal(0);
    expect(late.of('listen-failed')).to.deep.equal([]);
  });
});
