/** Two connections to one neighbour (RFC 4271 §6.8, RFC 6286 §2.3), and connections that nobody wants. */

import { expect } from 'chai';
import type { PeerSettings } from '../../protocol/speaker/settings.ts';
import {
  dialSpeaker,
  type NeighbourConnection,
  NeighbourPort,
} from '../support/scripted-neighbour.ts';
import { address, Subject, settings } from '../support/speaker-under-test.ts';
import {
  Capability,
  capability,
  hex,
  KEEPALIVE,
  type OpenFields,
  OUR_ID,
  open,
  Type,
} from '../support/wire-bytes.ts';

interface Listening {
  readonly subject: Subject;
  readonly port: NeighbourPort;
  /** where our side listens */
  readonly listenPort: number;
}

async function withListening(
  peer: Partial<PeerSettings>,
  test: (listening: Listening) => Promise<void>,
): Promise<void> {
  const port = await NeighbourPort.listen();
  const subject = new Subject({ listen: { port: 0, address: address('127.0.0.1') } });
  try {
    await subject.speaker.start();
    const { local } = await subject.until('listening');
    subject.apply({ settings: settings(port.port, { listen: true, ...peer }), routes: [] });
    await test({ subject, port, listenPort: local.port });
  } finally {
    await Promise.all([port.close(), subject.stop()]);
  }
}

/** our dial and the neighbour's, both with our OPEN on them */
async function bothOpen({ port, listenPort }: Listening) {
  const ours = await port.accept();
  await ours.expectMessage(Type.open);
  const theirs = await dialSpeaker(listenPort);
  await theirs.expectMessage(Type.open);
  return { ours, theirs };
}

async function finish(connection: NeighbourConnection, subject: Subject): Promise<void> {
  connection.send(KEEPALIVE);
  await subject.until('established');
  await connection.expectMessage(Type.update);
  expect(connection.ending).to.equal('open');
}

const HIGHER: OpenFields = { routerId: '192.0.2.250' };
const LOWER: OpenFields = { routerId: '192.0.2.0' };

describe('collision of two connections (RFC 4271 §6.8)', () => {
  for (const [first, second] of [
    ['ours', 'theirs'],
    ['theirs', 'ours'],
  ] as const) {
    it(`the neighbour has the higher identifier, OPEN first on ${first}: its dial survives, ours gets 6/7`, () =>
      withListening({}, async (listening) => {
        const both = await bothOpen(listening);
        both[first].send(open(HIGHER));
        await both[first].expectKeepalive();
        both[second].send(open(HIGHER));
        expect(await both.ours.expectNotification()).to.equal('6/7');
        expect(await both.ours.expectEnd()).to.equal('fin');
        await finish(both.theirs, listening.subject);
        const [established] = listening.subject.of('established');
        expect(established?.side).to.equal('in');
        expect(listening.port.count, 'nothing more is dialled').to.equal(1);
        both.theirs.close();
      }));

    it(`the neighbour has the lower identifier, OPEN first on ${first}: our dial survives, its gets 6/7`, () =>
      withListening({}, async (listening) => {
        const both = await bothOpen(listening);
        both[first].send(open(LOWER));
        await both[first].expectKeepalive();
        both[second].send(open(LOWER));
        expect(await both.theirs.expectNotification()).to.equal('6/7');
        await both.theirs.expectEnd();
        await finish(both.ours, listening.subject);
        expect(listening.subject.of('established')[0]?.side).to.equal('out');
      }));
  }

  it('equal identifiers of two AS: the larger AS number has precedence (RFC 6286 §2.3)', () =>
    withListening({}, async (listening) => {
      const { ours, theirs } = await bothOpen(listening);
      ours.send(open({ routerId: OUR_ID }));
      await ours.expectKeepalive();
      theirs.send(open({ routerId: OUR_ID }));
      expect(await ours.expectNotification()).to.equal('6/7');
      await finish(theirs, listening.subject);
      theirs.close();
    }));

  it('a dial of the neighbour into an established session is refused with 6/7, the session stays', () =>
    withListening({}, async ({ subject, port, listenPort }) => {
      const ours = await port.accept();
      await ours.establish(LOWER);
      const theirs = await dialSpeaker(listenPort);
      expect(await theirs.expectNotification()).to.equal('6/7');
      await theirs.expectEnd();
      expect(theirs.messages, 'no OPEN on it').to.have.lengthOf(1);
      expect(subject.of('down', 'neighbour')).to.deep.equal([]);
      ours.send(KEEPALIVE);
      expect(subject.status().state).to.equal('established');
    }));

  it('a neighbour with graceful restart that dials again has restarted: its new session replaces the old (RFC 4724 §5)', () =>
    withListening({ timers: { holdSeconds: 3 } }, async ({ subject, port, listenPort }) => {
      const restarting = capability(64, hex('8078 0001 01 80'));
      const fields = { capabilities: [Capability.ipv4, Capability.asn4(65001), restarting] };
      const ours = await port.accept();
      await ours.establish(fields, 1);
      // a session younger than a keepalive interval may be a dial that crossed ours
      ours.keepAlive(500);
      await ours.expectKeepalive();
      const theirs = await dialSpeaker(listenPort);
      await theirs.establish(fields, 1);
      await ours.until('the old connection ends', () => ours.ending !== 'open');
      expect(ours.messages.map(({ type }) => type)).to.not.include(Type.notification);
      expect(subject.of('established').map(({ side }) => side)).to.deep.equal(['out', 'in']);
      theirs.close();
    }));
});

describe('connections that nobody wants', () => {
  it('from an address that is no neighbour: reset, and told', () =>
    withListening({}, async ({ subject, listenPort }) => {
      const stranger = await dialSpeaker(listenPort, { localAddress: '127.0.0.9' });
      expect(await stranger.expectEnd()).to.equal('reset');
      expect(stranger.messages).to.deep.equal([]);
      const { remote } = await subject.until('connection-refused');
      expect(remote.address).to.deep.equal(address('127.0.0.9'));
    }));

  it('from a neighbour that is only dialled', () =>
    withListening({ listen: false }, async ({ subject, port, listenPort }) => {
      await (await port.accept()).establish();
      const unwanted = await dialSpeaker(listenPort);
      await unwanted.expectEnd();
      expect(unwanted.messages.map(({ type }) => type)).to.not.include(Type.open);
      await subject.until('connection-refused');
      expect(subject.status().state).to.equal('established');
    }));
});
