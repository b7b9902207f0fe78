/** What one neighbour's driver keeps and tells while a session stands, on the in-memory network. */

import { expect } from 'chai';
import { PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import { encode } from '../../../protocol/bgp/encode.ts';
import type { Message } from '../../../protocol/bgp/message.ts';
import type { Route } from '../../../protocol/bgp/route.ts';
import type { InterfaceAddresses } from '../../../protocol/io/interface-addresses.ts';
import { MemoryNetwork } from '../../../protocol/io/memory-transport.ts';
import type { Connection, ConnectionHandlers } from '../../../protocol/io/transport.ts';
import { ipv4, ipv6, prefix } from '../../../protocol/net/literal.ts';
import type { SpeakerEvent } from '../../../protocol/speaker/events.ts';
import type { PeerSettings } from '../../../protocol/speaker/settings.ts';
import { Speaker } from '../../../protocol/speaker/speaker.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const NODE = ipv4('192.0.2.1');
const ROUTER = ipv4('192.0.2.2');
const PORT = 179;
const SETTINGS: PeerSettings = {
  name: 'tor',
  address: ROUTER,
  localAsn: 64512,
  peerAsn: 64500,
  routerId: 2,
  listen: true,
};
const OPEN: Message = {
  kind: 'open',
  version: 4,
  asn: 64500,
  holdTimeSeconds: 90,
  routerId: 1,
  capabilities: [
    { kind: 'multiprotocol', afi: 1, safi: 1 },
    { kind: 'multiprotocol', afi: 2, safi: 1 },
    { kind: 'four-octet-asn', asn: 64500 },
  ],
};
const QUIET: ConnectionHandlers = {
  onOpen: () => undefined,
  onData: () => undefined,
  onProgress: () => undefined,
  onDrain: () => undefined,
  onClose: () => undefined,
};

const ENDS: ReadonlySet<string> = new Set(['down', 'end-arrived', 'removed']);

function routes(...texts: string[]): Route[] {
  return texts.map((text) => ({ prefix: prefix(text), attributes: {} }));
}

describe('the driver of a neighbour', () => {
  let clock: ManualClock;
  let network: MemoryNetwork;
  let node: Speaker;
  let events: SpeakerEvent[];
  /** the connection that the node dialled, as the router has it */
  let dialled: Connection;
  let dial: () => Connection;
  /** undefined: the interface is not listed */
  let onInterface: InterfaceAddresses | undefined;

  async function run(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 5) {
      clock.advance(5);
      for (let turn = 0; turn < 3; turn++) await Promise.resolve();
    }
  }

  const say = (connection: Connection, message: Message) =>
    connection.write(encode(message, PLAIN_CONTEXT));

  const told = () =>
    events.flatMap((event) => ('peer' in event ? [`${event.kind} ${event.peer}`] : []));

  beforeEach(async () => {
    onInterface = undefined;
    clock = new ManualClock();
    network = new MemoryNetwork({ clock, latencyMs: 1 });
    const router = network.host(ROUTER);
    dial = () =>
      router.dial({ remote: { address: NODE, port: PORT }, connectTimeoutMs: 1000 }, QUIET);
    await router.listen({ port: PORT }, (connection) => {
      dialled = connection;
      return QUIET;
    });
    node = new Speaker({
      clock,
      random: new SeededRandom(1),
      transport: network.host(NODE),
      interfaceAddresses: () => onInterface,
      listen: { port: PORT },
    });
    events = [];
    node.subscribe((event) => events.push(event));
    await node.start();
    node.apply({ peers: [{ settings: SETTINGS, routes: routes('198.51.100.7/32') }] });
    await run(50);
    say(dialled, OPEN);
    await run(50);
  });

  it('takes the end of a second connection for no error of the session that stands', async () => {
    const second = dial();
    await run(50);
    say(dialled, { kind: 'keepalive' });
    await run(50);
    say(second, { kind: 'notification', code: 6, subcode: 7, data: new Uint8Array() });
    await run(50);
    expect(events.filter(({ kind }) => kind === 'down')).to.have.lengthOf(1);
    const [standing] = node.status();
    expect(standing).to.include({ state: 'established' }).and.not.have.property('lastError');
    say(dialled, { kind: 'notification', code: 6, subcode: 2, data: new Uint8Array() });
    await run(50);
    expect(node.status()[0]?.lastError).to.contain('6/2');
  });

  it('has told a neighbour what has arrived there, not what was written', async () => {
    say(dialled, { kind: 'keepalive' });
    await run(50);
    expect(node.status()[0]?.isSynced).to.equal(true);
    events = [];
    network.freeze(NODE, ROUTER);
    node.apply({ peers: [{ settings: SETTINGS, routes: [] }] });
    await run(5000);
    expect(told(), 'while nothing arrives').to.deep.equal([]);
    expect(node.status()[0]).to.include({ isSynced: false, routesPending: 0 });
    network.thaw(NODE, ROUTER);
    await run(250);
    expect(told()).to.deep.equal(['routes-synced tor']);
    expect(node.status()[0]?.isSynced).to.equal(true);
  });

  it('says whether its NOTIFICATION has arrived, where it ends the session', async () => {
    const ends = () => events.map(({ kind }) => kind).filter((kind) => ENDS.has(kind));
    say(dialled, { kind: 'keepalive' });
    await run(50);
    events = [];
    node.apply({ peers: [{ settings: { ...SETTINGS, peerAsn: 64501 }, routes: [] }] });
    await run(50);
    expect(ends(), 'the router hears it').to.deep.equal(['down', 'end-arrived']);
  });

  it('does not say that its NOTIFICATION has arrived where the network loses it', async () => {
    const ends = () => events.map(({ kind }) => kind).filter((kind) => ENDS.has(kind));
    say(dialled, { kind: 'keepalive' });
    await run(50);
    events = [];
    network.freeze(NODE, ROUTER);
    node.apply({ peers: [] });
    await run(20_000);
    expect(ends()).to.deep.equal(['down', 'removed']);
  });

  it('says nothing of an arrival where the router ends the session', async () => {
    say(dialled, { kind: 'keepalive' });
    await run(50);
    events = [];
    say(dialled, { kind: 'notification', code: 6, subcode: 2, data: new Uint8Array() });
    await run(50);
    expect(events.map(({ kind }) => kind))
      .to.include('down')
      .and.not.include('end-arrived');
  });

  it('tells under a new name what it carries and what it cannot', async () => {
    const wished = routes('198.51.100.7/32', '2001:db8::7/128');
    node.apply({ peers: [{ settings: SETTINGS, routes: wished }] });
    say(dialled, { kind: 'keepalive' });
    await run(50);
    events = [];
    node.apply({ peers: [{ settings: { ...SETTINGS, name: 'spine' }, routes: wished }] });
    await run(50);
    expect(told()).to.deep.equal(['routes-refused spine', 'routes-synced spine', 'removed tor']);
    const removed = events.find(({ kind }) => kind === 'removed');
    expect(removed).to.deep.equal({ kind: 'removed', peer: 'tor', newName: 'spine' });
    events = [];
    node.apply({ peers: [{ settings: { ...SETTINGS, name: 'spine' }, routes: wished }] });
    await run(50);
    expect(told()).to.deep.equal([]);
  });

  it('shows among ten refused routes at least one of each family', async () => {
    const many = Array.from({ length: 12 }, (_, i) => `2001:db8::${i}/128`);
    const own = Array.from({ length: 12 }, (_, i) => ({
      prefix: prefix(`198.51.100.${i}/32`),
      attributes: { nextHop: ipv4('0.0.0.0') },
    }));
    node.apply({ peers: [{ settings: SETTINGS, routes: [...own, ...routes(...many)] }] });
    say(dialled, { kind: 'keepalive' });
    await run(50);
    const refused = events.find((event) => event.kind === 'routes-refused');
    expect(refused).to.include({ count: 24 });
    const families = refused?.first.map(({ route }) => route.prefix.family);
    expect(families).to.have.lengthOf(10).and.to.include.members(['ipv4', 'ipv6']);
  });

  it('goes on with the next hop that it has told, as long as the interface has it', async () => {
    const wish = () =>
      node.apply({ peers: [{ settings: SETTINGS, routes: routes('2001:db8::7/128') }] });
    /** IPv6 routes that are out, and messages that it took since the last look */
    let sent = 0;
    const seen = async () => {
      wish();
      await run(50);
      const { counters, routesAdvertised } = node.status()[0] ?? expect.fail();
      const messages = counters.messagesSent - sent;
      sent = counters.messagesSent;
      return [routesAdvertised.ipv6, messages];
    };
    onInterface = eth0('2001:db8::1');
    say(dialled, { kind: 'keepalive' });
    expect((await seen())[0]).to.equal(1);
    onInterface = eth0('2001:db8::2', '2001:db8::1');
    expect(await seen(), 'a newer address').to.deep.equal([1, 0]);
    onInterface = undefined;
    expect(await seen(), 'no carrier').to.deep.equal([1, 0]);
    onInterface = eth0('2001:db8::2', '2001:db8::1');
    expect(await seen(), 'and back').to.deep.equal([1, 0]);
    onInterface = eth0('2001:db8::3', '2001:db8::2');
    expect(await seen(), 'the one in use is gone').to.deep.equal([1, 1]);
    onInterface = eth0();
    expect(await seen(), 'all are gone').to.deep.equal([0, 1]);
    onInterface = undefined;
    expect(await seen(), 'no carrier').to.deep.equal([0, 0]);
    onInterface = eth0('2001:db8::2');
    expect(await seen(), 'there is one').to.deep.equal([1, 1]);
  });
});

function eth0(...texts: string[]): InterfaceAddresses {
  return { name: 'eth0', ipv4: [NODE], ipv6: texts.map((text) => ipv6(text)), linkLocal: [] };
}
