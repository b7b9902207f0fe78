/**
 * Sessions come by themselves, whatever order things start in, and stay by themselves, whatever happens to the neighbour's
 * neighbours. RFC 4271 §8 (retry, passive, DelayOpen), RFC 2385 (MD5), and the promise of `apply()`: a change of one peer
 * never touches another's session.
 */

import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { NodeTcpTransport } from '../../protocol/io/node-tcp.ts';
import { itConcurrently } from '../support/concurrently.ts';
import { tenthsDuring } from '../support/own-clock.ts';
import { dialSpeaker, NeighbourPort } from '../support/scripted-neighbour.ts';
import {
  address,
  routes,
  Subject,
  settings,
  withPair,
  withSession,
} from '../support/speaker-under-test.ts';
import { KEEPALIVE, open, Type, toHex } from '../support/wire-bytes.ts';

/** On an address of its own, a port that is free stays free: all else in this process is on 127.0.0.1. */
const APART = '127.0.0.66';

/** a port of that address on which nobody listens */
async function freePort(): Promise<number> {
  const port = await NeighbourPort.listen({ host: APART });
  const number = port.port;
  await port.close();
  return number;
}

/** what a test opened is closed whatever becomes of it */
async function withSubject(
  subject: Subject,
  test: () => Promise<void>,
  ...ports: readonly { close(): Promise<void> }[]
): Promise<void> {
  try {
    await test();
  } finally {
    await Promise.all([subject.stop(), ...ports.map((port) => port.close())]);
  }
}

async function appearsLate(): Promise<void> {
  const number = await freePort();
  const subject = new Subject();
  await withSubject(subject, async () => {
    const peer = settings(number, { address: address(APART) });
    subject.apply({ settings: peer, routes: routes('10.1.0.0/16') });
    const { reason } = await subject.until('down', () => subject.of('down').length >= 3);
    expect(reason.kind).to.equal('disconnected');
    expect(subject.status().lastError).to.match(/refused/i);
    const port = await NeighbourPort.listen({ host: APART, port: number });
    const neighbour = await port.accept();
    await neighbour.establish();
    expect(subject.status().lastError).to.equal(undefined);
    await port.close();
  });
}

async function resetsAtFirst(): Promise<void> {
  await withPair({}, async ({ port, subject }) => {
    for (let round = 0; round < 3; round += 1) (await port.accept()).reset();
    const openThenReset = await port.accept();
    await openThenReset.expectMessage(Type.open);
    openThenReset.reset();
    const closesInOpenConfirm = await port.accept();
    await closesInOpenConfirm.expectMessage(Type.open);
    closesInOpenConfirm.send(open());
    await closesInOpenConfirm.expectKeepalive();
    closesInOpenConfirm.halfClose();
    await (await port.accept()).establish();
    expect(subject.of('established')).to.have.lengthOf(1);
  });
}

async function restartsAgainAndAgain(): Promise<void> {
  await withPair({ routes: ['10.1.0.0/16'] }, async ({ port, subject }) => {
    for (let round = 1; round <= 10; round += 1) {
      const neighbour = await port.accept();
      await neighbour.establish();
      const all = neighbour.messages.map(({ body }) => toHex(body)).join(' ');
      expect(all, `round ${round} has the whole set`).to.contain('100a01');
      if (round % 2 === 0) neighbour.reset();
      else neighbour.halfClose();
    }
    await subject.until('established', () => subject.of('established').length === 10);
    await subject.until('down', () => subject.of('down').length >= 10);
    expect(subject.status().counters.establishedCount).to.equal(10);
  });
}

async function passive(): Promise<void> {
  const port = await NeighbourPort.listen();
  const subject = new Subject({ listen: { port: 0, address: address('127.0.0.1') } });
  await withSubject(
    subject,
    async () => {
      await subject.speaker.start();
      const { local } = await subject.until('listening');
      subject.apply({ settings: settings(port.port, { passive: true }), routes: [] });
      await delay(500);
      expect(port.count, 'a passive side never dials').to.equal(0);
      expect(subject.status().state).to.equal('active');
      for (let round = 1; round <= 2; round += 1) {
        const neighbour = await dialSpeaker(local.port);
        await neighbour.establish();
        neighbour.close();
        await subject.until('down', () => subject.of('down').length === round);
      }
      await delay(300);
      expect(port.count).to.equal(0);
    },
    port,
  );
}

async function delayOpen(): Promise<void> {
  const timers = { delayOpenSeconds: 1 };
  await withPair({ peer: { timers } }, async ({ port }) => {
    const neighbour = await port.accept();
    const opening = neighbour.expectMessage(Type.open);
    const { result, tenths } = await tenthsDuring(opening);
    expect(tenths, 'tenths of a second by our own clock').to.be.at.most(18);
    expect(result.afterMs).to.be.within(700, 15_000);
    neighbour.send(open(), KEEPALIVE);
    await neighbour.expectKeepalive();
  });
}

async function delayOpenCutShort(): Promise<void> {
  const timers = { delayOpenSeconds: 60 };
  await withPair({ peer: { timers } }, async ({ port, subject }) => {
    const neighbour = await port.accept();
    neighbour.send(open());
    const { afterMs } = await neighbour.expectMessage(Type.open);
    expect(afterMs, 'of the 60 s').to.be.below(30_000);
    await neighbour.expectKeepalive();
    neighbour.send(KEEPALIVE);
    await subject.until('established');
  });
}

/** A listener whose kernel wants this MD5 key of 127.0.0.1; what it accepted is in `accepted`. */
async function md5Listener(password: string) {
  const accepted: Uint8Array[][] = [];
  const transport = new NodeTcpTransport();
  const listener = await transport.listen(
    { port: 0, address: address('127.0.0.1') },
    (connection) => {
      const chunks: Uint8Array[] = [];
      accepted.push(chunks);
      return {
        onOpen() {},
        onData(bytes) {
          chunks.push(Uint8Array.from(bytes));
          if (chunks.length === 1) connection.write(open());
          connection.write(KEEPALIVE);
        },
        onProgress() {},
        onDrain() {},
        onClose() {},
      };
    },
  );
  listener.setPeerOptions(address('127.0.0.1'), { password });
  return { listener, accepted };
}

async function md5(ours: string | undefined, theirs: string, comesUp: boolean): Promise<void> {
  const { listener, accepted } = await md5Listener(theirs);
  const subject = new Subject();
  const peer = {
    ...(ours === undefined ? {} : { password: ours }),
    timers: { connectRetrySeconds: 1 },
  };
  await withSubject(
    subject,
    async () => {
      subject.apply({ settings: settings(listener.local.port, peer), routes: [] });
      if (comesUp) {
        await subject.until('established');
      } else {
        const { reason } = await subject.until(
          'down',
          () => subject.of('down').length >= 2,
          30_000,
        );
        expect(reason.kind).to.equal('disconnected');
        expect(subject.of('established')).to.deep.equal([]);
        expect(accepted).to.deep.equal([]);
        expect(subject.status().lastError).to.be.a('string').and.not.equal('');
      }
      const told = JSON.stringify([subject.events, subject.speaker.status()]);
      for (const secret of [ours, theirs]) {
        if (secret !== undefined) expect(told, 'no secret in events').to.not.contain(secret);
      }
    },
    listener,
  );
}

async function portTaken(): Promise<void> {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, APART, resolve));
  const bound = taken.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  const port = await NeighbourPort.listen();
  const subject = new Subject({ listen: { port: bound.port, address: address(APART) } });
  await withSubject(
    subject,
    async () => {
      await subject.speaker.start();
      const { error, retryInMs } = await subject.until('listen-failed');
      expect(error.code).to.equal('ADDRESS_IN_USE');
      expect(error.message).to.contain(String(bound.port));
      expect(retryInMs).to.be.above(0);
      subject.apply({ settings: settings(port.port, { listen: true }), routes: [] });
      await (await port.accept()).establish();
      // the port is free again: the next attempt gets it
      await new Promise<void>((resolve) => taken.close(() => resolve()));
      const { local } = await subject.until('listening', () => true, retryInMs + 20_000);
      expect(local.port).to.equal(bound.port);
      expect(subject.status().state).to.equal('established');
    },
    port,
  );
}

async function ipv6Neighbour(): Promise<void> {
  const port = await NeighbourPort.listen({ host: '::1' });
  const subject = new Subject();
  await withSubject(
    subject,
    async () => {
      const peer = settings(port.port, { address: address('::1') });
      subject.apply({ settings: peer, routes: routes('2001:db8:5::/48') });
      const neighbour = await port.accept();
      await neighbour.establish();
      const { remote } = await subject.until('established');
      expect(remote.address).to.deep.equal(address('::1'));
    },
    port,
  );
}

describe('a session comes by itself', () => {
  itConcurrently([
    { name: 'when the neighbour appears late', run: appearsLate },
    { name: 'when the neighbour resets and hangs up at first', run: resetsAtFirst },
    {
      name: 'ten times, when the neighbour restarts ten times, with all routes each time',
      run: restartsAgainAndAgain,
    },
    { name: 'when we are passive: it never dials, and takes what is dialled', run: passive },
    { name: 'with DelayOpen: our OPEN waits (RFC 4271 §8.1.1)', run: delayOpen },
    { name: 'with DelayOpen: the OPEN of the neighbour ends the wait', run: delayOpenCutShort },
    { name: 'over IPv6', run: ipv6Neighbour },
    { name: 'with the right MD5 key (RFC 2385)', run: () => md5('s3cret-key', 's3cret-key', true) },
    {
      name: 'not with a wrong MD5 key: no connection at all, and that is told',
      run: () => md5('wr0ng-key', 's3cret-key', false),
    },
    {
      name: 'not without an MD5 key where the neighbour wants one',
      run: () => md5(undefined, 's3cret-key', false),
    },
    {
      name: 'when our port is taken: that is told and tried again, dialling goes on',
      run: portTaken,
    },
  ]);
});

describe('a change of one neighbour never touches another', () => {
  const withTwo = async (
    test: (world: {
      readonly subject: Subject;
      readonly ports: readonly [NeighbourPort, NeighbourPort];
    }) => Promise<void>,
  ): Promise<void> => {
    const ports = [await NeighbourPort.listen(), await NeighbourPort.listen()] as const;
    const subject = new Subject();
    try {
      await withSubject(subject, () => test({ subject, ports }));
    } finally {
      await Promise.all(ports.map((port) => port.close()));
    }
  };

  const changes = [
    ['is removed', undefined, '6/3'],
    ['changes its hold time', { timers: { holdSeconds: 60 } }, '6/6'],
    ['changes its AS number', { peerAsn: 65009 }, '6/6'],
    ['gets a password', { password: 'n3w-key' }, '6/6'],
  ] as const;
  for (const [what, change, cease] of changes) {
    it(`when it ${what}: the other's connection and messages are undisturbed`, () =>
      withTwo(async ({ subject, ports: [one, two] }) => {
        const first = {
          settings: settings(one.port, { name: 'first' }),
          routes: routes('10.1.0.0/16'),
        };
        const second = {
          settings: settings(two.port, { name: 'second' }),
          routes: routes('10.2.0.0/16'),
        };
        subject.apply(first, second);
        const [changing, staying] = [await one.accept(), await two.accept()];
        await Promise.all([changing.establish(), staying.establish()]);
        await subject.until('routes-synced', ({ peer }) => peer === 'second');
        const before = staying.messages.length;
        const events = subject.events.length;
        if (change === undefined) subject.apply(second);
        else {
          const changed = settings(one.port, { name: 'first', ...change });
          subject.apply({ ...first, settings: changed }, second);
        }
        expect(await changing.expectNotification()).to.match(new RegExp(`^${cease}`));
        await changing.expectEnd();
        staying.send(KEEPALIVE);
        await delay(150);
        expect(staying.messages.length).to.equal(before);
        expect(staying.ending).to.equal('open');
        expect(two.count).to.equal(1);
        const later = subject.events
          .slice(events)
          .filter((event) => 'peer' in event && event.peer === 'second');
        expect(later).to.deep.equal([]);
      }));
  }

  it('when its routes change, only its own session hears of it', () =>
    withTwo(async ({ subject, ports: [one, two] }) => {
      const second = {
        settings: settings(two.port, { name: 'second' }),
        routes: routes('10.2.0.0/16'),
      };
      const first = settings(one.port, { name: 'first' });
      subject.apply({ settings: first, routes: [] }, second);
      const [changing, staying] = [await one.accept(), await two.accept()];
      await Promise.all([changing.establish(), staying.establish()]);
      const before = staying.messages.length;
      subject.apply({ settings: first, routes: routes('10.9.0.0/16') }, second);
      expect(toHex((await changing.expectMessage(Type.update)).body)).to.contain('100a09');
      expect(staying.messages.length).to.equal(before);
    }));
});

describe('the end of TCP', () => {
  it('a FIN of the neighbour alone ends the session: no half-open BGP', () =>
    withSession({}, async ({ neighbour, subject }) => {
      neighbour.halfClose();
      await neighbour.expectEnd();
      const { reason, wasEstablished } = await subject.until('down');
      expect(wasEstablished).to.equal(true);
      expect(reason.kind).to.equal('disconnected');
    }));

  it('a reset ends it, and is told as one', () =>
    withSession({}, async ({ neighbour, subject }) => {
      neighbour.reset();
      const { reason } = await subject.until('down');
      expect(reason.kind).to.equal('disconnected');
      expect(subject.status().lastError).to.match(/reset/i);
    }));
});
