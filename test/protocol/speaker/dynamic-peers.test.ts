/** Neighbours by range, on the in-memory network: who gets a place, for how long, and what a change of the range does to it. */

import { expect } from 'chai';
import { MemoryNetwork } from '../../../protocol/io/memory-transport.ts';
import type { Transport } from '../../../protocol/io/transport.ts';
import { type Address, addressKey } from '../../../protocol/net/address.ts';
import { formatAddress, formatPrefix } from '../../../protocol/net/address-text.ts';
import { address, ipv4, prefix } from '../../../protocol/net/literal.ts';
import type { DesiredRange, RangeSettings } from '../../../protocol/speaker/dynamic-peers.ts';
import type { SpeakerEvent } from '../../../protocol/speaker/events.ts';
import type { PeerSettings } from '../../../protocol/speaker/settings.ts';
import { type Desired, Speaker } from '../../../protocol/speaker/speaker.ts';
import { SessionFacts } from '../../../src/agent/session-facts.ts';
import { Recorder } from '../../compliance/transport.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const ROUTER = ipv4('192.0.2.1');
const RANGE = prefix('192.0.2.0/24');

class Machine {
  readonly events: SpeakerEvent[] = [];
  readonly speaker: Speaker;

  constructor(lab: Lab, own: Address, isListening = false) {
    this.speaker = new Speaker({
      clock: lab.clock,
      random: new SeededRandom(7),
      transport: lab.host(own),
      interfaceAddresses: () => undefined,
      ...(isListening ? { listen: { port: 179 } } : {}),
    });
    this.speaker.subscribe((event) => this.events.push(event));
  }

  of<K extends SpeakerEvent['kind']>(kind: K): (SpeakerEvent & { kind: K })[] {
    return this.events.filter((event): event is SpeakerEvent & { kind: K } => event.kind === kind);
  }

  /** names and states */
  get peers(): Record<string, string> {
    return Object.fromEntries(this.speaker.status().map(({ name, state }) => [name, state]));
  }
}

class Lab {
  readonly clock = new ManualClock();
  readonly network = new MemoryNetwork({ clock: this.clock, latencyMs: 1 });
  readonly #hosts = new Map<string, Transport>();

  host(own: Address): Transport {
    const key = addressKey(own);
    const host = this.#hosts.get(key) ?? this.network.host(own);
    this.#hosts.set(key, host);
    return host;
  }

  async run(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5) {
      this.clock.advance(5);
      for (let turn = 0; turn < 3; turn++) await Promise.resolve();
    }
  }

  async router(desired: Partial<Desired>): Promise<Machine> {
    const router = new Machine(this, ROUTER, true);
    await router.speaker.start();
    router.speaker.apply({ peers: [], ...desired });
    return router;
  }

  /** a machine that dials the router, and announces these */
  node(own: string, over: Partial<PeerSettings> = {}, ...prefixes: string[]): Machine {
    const machine = new Machine(this, address(own));
    const routes = prefixes.map((text) => ({ prefix: prefix(text), attributes: {} }));
    machine.speaker.apply({ peers: [{ settings: toRouter(own, over), routes }] });
    return machine;
  }

  /** a TCP connection that says nothing */
  async silent(own: string): Promise<Recorder> {
    const recorder = new Recorder();
    const remote = { address: ROUTER, port: 179 };
    this.host(address(own)).dial({ remote, connectTimeoutMs: 1000 }, recorder);
    await this.run(20);
    return recorder;
  }
}

function toRouter(own: string, over: Partial<PeerSettings> = {}): PeerSettings {
  return {
    name: 'router',
    address: ROUTER,
    sourceAddress: address(own),
    localAsn: 64512,
    peerAsn: 64500,
    routerId: 0x0a000000 + Number(own.split('.').at(-1)),
    nextHop: {},
    ...over,
  };
}

const TEMPLATE: RangeSettings = {
  name: 'nodes',
  localAsn: 64500,
  peerAsn: 'external',
  routerId: 1,
  inbound: { kind: 'keep', maxPrefixes: 3 },
};

function range(
  over: Partial<DesiredRange> = {},
  settings: Partial<RangeSettings> = {},
): DesiredRange {
  return { range: RANGE, routes: [], ...over, settings: { ...TEMPLATE, ...settings } };
}

describe('neighbours by range', () => {
  it('come with their connection, keep their routes, and go with it', async () => {
    const lab = new Lab();
    const routes = [{ prefix: prefix('203.0.113.0/24'), attributes: {} }];
    const router = await lab.router({ ranges: [range({ routes })] });
    expect(router.peers).to.deep.equal({});
    const a = lab.node('192.0.2.11', {}, '198.51.100.7/32');
    const b = lab.node('192.0.2.12', {}, '198.51.100.7/32');
    await lab.run(100);
    expect(router.peers).to.deep.equal({
      'nodes/192.0.2.11': 'established',
      'nodes/192.0.2.12': 'established',
    });
    const held = router.speaker.receivedRoutes('nodes/192.0.2.12');
    expect(held.map((route) => formatPrefix(route.prefix))).to.deep.equal(['198.51.100.7/32']);
    for (const node of [a, b]) {
      expect(node.of('update-received').flatMap(({ update }) => update.nlri)).to.have.length(1);
    }
    await Promise.all([a.speaker.stop({ kind: 'shutdown', deadlineMs: 10 }), lab.run(100)]);
    expect(router.peers).to.deep.equal({ 'nodes/192.0.2.12': 'established' });
    expect(router.of('down').map(({ peer }) => peer)).to.deep.equal(['nodes/192.0.2.11']);
    expect(router.speaker.receivedRoutes('nodes/192.0.2.11')).to.deep.equal([]);
  });

  it('are cut off by the hold timer, told so, and welcome again', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range()] });
    lab.node('192.0.2.11');
    await lab.run(100);
    lab.network.freeze(ipv4('192.0.2.11'), ROUTER);
    await lab.run(10_000);
    expect(router.peers).to.deep.equal({});
    expect(router.of('notification-sent').map(({ code }) => code)).to.deep.equal([4]);
    lab.network.thaw(ipv4('192.0.2.11'), ROUTER);
    await lab.run(10_000);
    expect(router.peers).to.deep.equal({ 'nodes/192.0.2.11': 'established' });
  });

  it('are gone with a last word of that, after which nothing is told under their name (B6)', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range()] });
    const facts = new SessionFacts();
    router.speaker.subscribe((event) => facts.take(event));
    const known = 'nodes/192.0.2.11';
    const node = lab.node('192.0.2.11', {}, '198.51.100.7/32');
    await lab.run(100);
    expect(router.of('removed')).to.deep.equal([]);
    const text = 'who reads this';
    await Promise.all([
      node.speaker.stop({ kind: 'shutdown', text, deadlineMs: 10 }),
      lab.run(100),
    ]);
    expect(router.of('notification-received').map((event) => event.text)).to.deep.equal([text]);
    expect(router.events.at(-1)).to.deep.equal({ kind: 'removed', peer: known });
    // nobody has asked for the status meanwhile
    expect(facts.told([{ name: known, state: 'idle' }])[0]).to.not.have.property('lastError');
    // one that comes back before its goodbye is over has the name again
    lab.node('192.0.2.11');
    await lab.run(100);
    expect(router.peers).to.deep.equal({ [known]: 'established' });
    expect(router.of('removed')).to.have.length(1);
    router.speaker.apply({ peers: [], ranges: [] });
    await lab.run(2000);
    expect(router.of('removed')).to.have.length(2);
  });

  it('are refused outside the range, and where a neighbour of that address is listed', async () => {
    const lab = new Lab();
    const listed: PeerSettings = { ...TEMPLATE, name: 'listed', address: ipv4('192.0.2.11') };
    const router = await lab.router({
      ranges: [range()],
      peers: [{ settings: listed, routes: [] }],
    });
    lab.node('192.0.2.11', { passive: true });
    const outside = lab.node('198.51.100.11');
    const dialling = await lab.silent('192.0.2.11');
    await lab.run(100);
    expect(Object.keys(router.peers)).to.deep.equal(['listed']);
    expect(outside.of('established')).to.have.length(0);
    expect(dialling.closes, 'the listed one does not accept').to.equal(1);
    expect(
      router.of('connection-refused').map((event) => formatAddress(event.remote.address)),
    ).to.include.members(['192.0.2.11', '198.51.100.11']);
  });

  it('have the settings of the longest range', async () => {
    const lab = new Lab();
    const narrow = range({ range: prefix('192.0.2.8/29') }, { name: 'narrow', peerAsn: 64513 });
    const router = await lab.router({ ranges: [narrow, range()] });
    lab.node('192.0.2.9', { localAsn: 64513 });
    lab.node('192.0.2.10');
    lab.node('192.0.2.20');
    await lab.run(50);
    expect(router.of('established').map(({ peer }) => peer)).to.have.members([
      'narrow/192.0.2.9',
      'nodes/192.0.2.20',
    ]);
  });

  it('take any AS where the range says so, internal or external', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range({}, { peerAsn: 'any' })] });
    lab.node('192.0.2.11');
    lab.node('192.0.2.12', { localAsn: 64500 });
    await lab.run(50);
    const facts = router.of('established').map(({ negotiated }) => negotiated.internal);
    expect(facts).to.have.members([true, false]);
  });

  it('never expire where either side says hold time 0', async () => {
    for (const [ours, theirs] of [
      [0, 9],
      [9, 0],
    ] as const) {
      const lab = new Lab();
      const router = await lab.router({ ranges: [range({}, { timers: { holdSeconds: ours } })] });
      const node = lab.node('192.0.2.11', { timers: { holdSeconds: theirs } });
      await lab.run(100);
      const sent = node.speaker.status()[0]?.counters.messagesSent;
      lab.network.freeze(ipv4('192.0.2.11'), ROUTER);
      await lab.run(60_000);
      expect(router.peers, `${ours} and ${theirs}`).to.deep.equal({
        'nodes/192.0.2.11': 'established',
      });
      expect(node.speaker.status()[0]?.counters.messagesSent).to.equal(sent);
    }
  });

  it('are as many as the limit says, and a place is free as soon as its neighbour is gone', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range({ limit: 2 })] });
    const first = lab.node('192.0.2.11');
    await lab.run(20);
    lab.node('192.0.2.12');
    await lab.run(20);
    lab.node('192.0.2.13');
    await lab.run(1000);
    expect(Object.keys(router.peers)).to.deep.equal(['nodes/192.0.2.11', 'nodes/192.0.2.12']);
    expect(router.of('connection-refused')[0]?.detail).to.match(/nodes has 2 neighbours/);
    await Promise.all([first.speaker.stop({ kind: 'restart' }), lab.run(7000)]);
    expect(Object.keys(router.peers)).to.deep.equal(['nodes/192.0.2.12', 'nodes/192.0.2.13']);
  });

  it('have one place per address, and lose it when no OPEN comes', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range({ limit: 2 })] });
    const mute = await lab.silent('192.0.2.66');
    const second = await lab.silent('192.0.2.66');
    expect(second.closes, 'the second connection of one address').to.equal(1);
    expect(mute.closes).to.equal(0);
    lab.node('192.0.2.11');
    await lab.run(100);
    expect(router.peers).to.deep.equal({
      'nodes/192.0.2.66': 'open-sent',
      'nodes/192.0.2.11': 'established',
    });
    await lab.run(21_000);
    expect(mute.closes).to.equal(1);
    expect(router.peers).to.deep.equal({ 'nodes/192.0.2.11': 'established' });
  });

  it('are held off after too many routes, longer each time, without a place of the range', async () => {
    const lab = new Lab();
    const timers = { idleHoldSeconds: 10, idleHoldMaximumSeconds: 60 };
    const router = await lab.router({ ranges: [range({ limit: 1 }, { timers })] });
    const many = [1, 2, 3, 4].map((each) => `198.51.100.${each}/32`);
    // its own idle hold is short: it would be back at once
    const greedy = lab.node('192.0.2.11', { timers: { idleHoldMaximumSeconds: 1 } }, ...many);
    await lab.run(100);
    const ceases = () => router.of('notification-sent').map((event) => [event.code, event.subcode]);
    expect(ceases()).to.deep.equal([[6, 1]]);
    expect(router.speaker.receivedRoutes('nodes/192.0.2.11')).to.deep.equal([]);
    await lab.run(5900);
    expect(router.of('established'), 'held off').to.have.length(1);
    expect(greedy.of('notification-received').some(({ subcode }) => subcode === 5)).to.equal(true);
    lab.node('192.0.2.12');
    await lab.run(100);
    expect(router.peers['nodes/192.0.2.12'], 'the place is free').to.equal('established');
    await lab.run(200_000);
    const times = router.of('established').filter(({ peer }) => peer === 'nodes/192.0.2.11');
    expect(times, 'and no place for the greedy one now').to.have.length(1);
  });

  it('have routes kept for them while they are established, and at no other time', async () => {
    const lab = new Lab();
    let reads = 0;
    const route = {
      get prefix() {
        reads += 1;
        return prefix('203.0.113.0/24');
      },
      attributes: {},
    };
    const readsOf = async (work: () => Promise<unknown>) => {
      const before = reads;
      await work();
      await lab.run(100);
      return reads - before;
    };
    const timers = { idleHoldSeconds: 10, idleHoldMaximumSeconds: 10 };
    const router = await lab.router({});
    const apply = async () =>
      router.speaker.apply({ peers: [], ranges: [range({ routes: [route] }, { timers })] });
    const alone = await readsOf(apply);
    const strangers = async () => {
      for (let each = 60; each < 80; each += 2) {
        await lab.silent(`192.0.2.${each}`);
        // not the AS that this router has
        lab.node(`192.0.2.${each + 1}`, { peerAsn: 64999 });
      }
    };
    expect(await readsOf(strangers), 'none of these has been a neighbour').to.equal(0);
    expect(await readsOf(apply)).to.equal(alone);
    const many = [1, 2, 3, 4].map((each) => `198.51.100.${each}/32`);
    const impatient = { idleHoldSeconds: 0.1, idleHoldMaximumSeconds: 0.1 };
    const greedy = lab.node('192.0.2.11', { timers: impatient }, ...many);
    const heard = () => greedy.of('update-received').flatMap(({ update }) => update.nlri);
    expect(await readsOf(() => lab.run(0)), 'it is established').to.be.above(0);
    expect([heard().length, router.of('down').length > 0]).to.deep.equal([1, true]);
    expect(await readsOf(apply), 'it is held off').to.equal(alone);
    await lab.run(30_000);
    expect(heard().length, 'and back').to.be.at.least(2);
  });

  it('double the pause of one that does not learn', async () => {
    const lab = new Lab();
    const timers = { idleHoldSeconds: 4, idleHoldMaximumSeconds: 60 };
    const router = await lab.router({ ranges: [range({}, { timers })] });
    const many = [1, 2, 3, 4].map((each) => `198.51.100.${each}/32`);
    const impatient = {
      idleHoldSeconds: 0.1,
      idleHoldMaximumSeconds: 0.1,
      connectRetrySeconds: 0.5,
    };
    lab.node('192.0.2.11', { timers: impatient }, ...many);
    await lab.run(120_000);
    const count = router.of('established').length;
    // pauses of about 4, 8, 16, 32, 60 s
    expect(count).to.be.within(4, 8);
    expect(Object.keys(router.peers)).to.have.length(1);
  });

  it('stand through apply() of the same range, and restart only for what the OPEN or the socket says', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range()] });
    const node = lab.node('192.0.2.11');
    await lab.run(100);
    router.speaker.apply({ peers: [], ranges: [range()] });
    const routes = [{ prefix: prefix('203.0.113.0/24'), attributes: {} }];
    const next = { nextHop: { ipv4: ipv4('192.0.2.99') } };
    router.speaker.apply({ peers: [], ranges: [range({ routes, limit: 7 }, next)] });
    await lab.run(100);
    expect(router.of('down')).to.have.length(0);
    const [update] = node.of('update-received').filter(({ update: each }) => each.nlri.length > 0);
    expect(update?.update.attributes.nextHop).to.deep.equal(ipv4('192.0.2.99'));
    router.speaker.apply({ peers: [], ranges: [range({}, { families: ['ipv4'] })] });
    await lab.run(10_000);
    expect(node.of('notification-received').map((each) => [each.code, each.subcode])).to.deep.equal(
      [[6, 6]],
    );
    expect(router.of('established').at(-1)?.negotiated.families).to.have.length(1);
  });

  it('go on under a new name of their range, also of one that is longer than theirs, and what is told goes with them', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range()] });
    const facts = new SessionFacts();
    router.speaker.subscribe((event) => facts.take(event));
    const [a, b] = [lab.node('192.0.2.11'), lab.node('192.0.2.200')];
    const routes = [{ prefix: prefix('203.0.113.0/24'), attributes: {} }];
    router.speaker.apply({ peers: [], ranges: [range({ routes })] });
    await lab.run(100);
    const longer = range(
      { routes, range: prefix('192.0.2.128/25') },
      { name: 'upper', nextHop: { ipv4: ipv4('192.0.2.99') } },
    );
    router.speaker.apply({ peers: [], ranges: [range({ routes }, { name: 'spines' }), longer] });
    await lab.run(100);
    expect(router.peers).to.deep.equal({
      'spines/192.0.2.11': 'established',
      'upper/192.0.2.200': 'established',
    });
    expect([a, b].flatMap((node) => node.of('down'))).to.deep.equal([]);
    expect(router.of('removed')).to.deep.equal([
      { kind: 'removed', peer: 'nodes/192.0.2.11', newName: 'spines/192.0.2.11' },
      { kind: 'removed', peer: 'nodes/192.0.2.200', newName: 'upper/192.0.2.200' },
    ]);
    const carriers = facts.carriers(router.speaker.status());
    expect(carriers.of('spines', 'ipv4').kind).to.equal('carried');
    expect(carriers.of('nodes', 'ipv4').kind).to.equal('down');
    const other = range({ routes }, { name: 'others', families: ['ipv4'] });
    router.speaker.apply({ peers: [], ranges: [other, longer] });
    await lab.run(100);
    expect(a.of('down'), 'a new name beside what the OPEN says').to.have.length(1);
    expect(b.of('down')).to.have.length(0);
  });

  it('go with their range, and to a neighbour that is listed now', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range()] });
    const [a, b] = [lab.node('192.0.2.11'), lab.node('192.0.2.12')];
    await lab.run(100);
    const listed: PeerSettings = {
      ...TEMPLATE,
      name: 'listed',
      address: ipv4('192.0.2.11'),
      passive: true,
    };
    router.speaker.apply({ peers: [{ settings: listed, routes: [] }], ranges: [range()] });
    await lab.run(10_000);
    expect(router.peers).to.deep.equal({
      listed: 'established',
      'nodes/192.0.2.12': 'established',
    });
    router.speaker.apply({ peers: [{ settings: listed, routes: [] }] });
    await lab.run(100);
    expect(router.peers).to.deep.equal({ listed: 'established' });
    expect(b.of('notification-received').at(-1)?.subcode).to.equal(3);
    expect(a.of('established')).to.have.length(2);
  });

  it('need the key of the range, and a change of it is a new session', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range({}, { password: 'one' })] });
    const right = lab.node('192.0.2.11', { password: 'one' });
    lab.node('192.0.2.12', { password: 'two' });
    lab.node('192.0.2.13');
    await lab.run(1000);
    expect(Object.keys(router.peers)).to.deep.equal(['nodes/192.0.2.11']);
    router.speaker.apply({ peers: [], ranges: [range({}, { password: 'two' })] });
    await lab.run(20_000);
    expect(Object.keys(router.peers)).to.deep.equal(['nodes/192.0.2.12']);
    expect(right.of('established')).to.have.length(1);
  });

  it('are told goodbye by stop(), and leave no timer behind', async () => {
    const lab = new Lab();
    const router = await lab.router({ ranges: [range()] });
    const node = lab.node('192.0.2.11');
    await lab.silent('192.0.2.66');
    const timers = { idleHoldSeconds: 30 };
    router.speaker.apply({ peers: [], ranges: [range({}, { timers })] });
    const text = 'maintenance';
    await Promise.all([
      router.speaker.stop({ kind: 'shutdown', text, deadlineMs: 5 }),
      lab.run(4000),
    ]);
    const [cease] = node.of('notification-received');
    expect([cease?.code, cease?.subcode, cease?.text]).to.deep.equal([6, 2, text]);
    expect(router.peers).to.deep.equal({});
    await Promise.all([node.speaker.stop({ kind: 'restart' }), lab.run(15_000)]);
    expect(lab.clock.pendingTimers).to.equal(0);
  });

  it('are refused as wishes where names, ranges or limits contradict each other', () => {
    const lab = new Lab();
    const { speaker } = new Machine(lab, ROUTER, true);
    const listed: PeerSettings = { ...TEMPLATE, name: 'nodes/192.0.2.7', address: ROUTER };
    const wrong: readonly (readonly [Desired, RegExp])[] = [
      [
        { peers: [], ranges: [range(), range({ range: prefix('10.0.0.0/8') })] },
        /two of this name/,
      ],
      [{ peers: [], ranges: [range(), range({}, { name: 'b' })] }, /two for 192\.0\.2\.0\/24/],
      [{ peers: [], ranges: [range({ limit: 0 })] }, /1 to 65535 neighbours, not 0/],
      [{ peers: [{ settings: listed, routes: [] }], ranges: [range()] }, /called like one of its/],
      [{ peers: [], ranges: [range({}, { timers: { holdSeconds: 2 } })] }, /hold time/],
    ];
    for (const [desired, sentence] of wrong) {
      const refused = speaker.apply(desired);
      expect(refused.map((one) => one.sentence).join()).to.match(sentence);
      expect(refused).to.have.length(1);
    }
  });
});
