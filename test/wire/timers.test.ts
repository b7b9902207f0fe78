/** The timers that watch a neighbour: hold time (RFC 4271 §6.5), hold time 0 (§4.2) and the send hold timer (RFC 9687). */

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { bulkyRoutes } from '../support/bulky-routes.ts';
import { itConcurrently } from '../support/concurrently.ts';
import { withPair, withSession } from '../support/speaker-under-test.ts';
import {
  GOOD,
  hex,
  KEEPALIVE,
  open,
  prefix4,
  routeRefresh,
  Type,
  toHex,
  update,
} from '../support/wire-bytes.ts';

const short = { timers: { holdSeconds: 3 } };
const UPDATE = update({ attributes: GOOD, nlri: [prefix4('10.0.0.0/8')] });
const BAD_UPDATE = update({ attributes: [hex('400100')], nlri: [prefix4('10.0.0.0/8')] });

async function silentNeighbour(): Promise<void> {
  await withSession({ peer: short }, async ({ neighbour, subject }) => {
    const before = neighbour.messages.length;
    const lastWord = performance.now();
    neighbour.send(KEEPALIVE);
    const { body } = await neighbour.expectMessage(Type.notification);
    expect(performance.now() - lastWord).to.be.at.least(2950);
    expect(toHex(body)).to.equal('0400');
    await neighbour.expectEnd();
    const { reason } = await subject.until('down');
    expect(reason).to.include({ kind: 'notification-sent', code: 4, subcode: 0 });
    // ours come every second, by the clock that the hold time is measured with: more would mean that it took longer
    const since = neighbour.messages.slice(before);
    const keepalives = since.filter(({ type }) => type === Type.keepalive);
    expect(keepalives.length).to.be.within(1, 4);
  });
}

async function heldUpBy(messages: readonly Uint8Array[]): Promise<void> {
  await withSession({ peer: short }, async ({ neighbour, subject }) => {
    for (const bytes of messages) {
      await delay(1000);
      neighbour.send(bytes);
    }
    const faults = messages.filter((bytes) => bytes === BAD_UPDATE).length;
    if (faults > 0)
      await subject.until('update-fault', () => subject.of('update-fault').length === faults);
    expect(subject.of('down')).to.deep.equal([]);
    expect(subject.status().state).to.equal('established');
  });
}

async function silentAfterOpen(): Promise<void> {
  await withPair({ peer: short }, async ({ port, subject }) => {
    const neighbour = await port.accept();
    await neighbour.expectMessage(Type.open);
    neighbour.send(open());
    await neighbour.expectKeepalive();
    const before = neighbour.messages.length;
    expect(await neighbour.expectNotification()).to.equal('4/0');
    const since = neighbour.messages.slice(before);
    expect(since.filter(({ type }) => type === Type.keepalive).length).to.be.within(1, 4);
    expect(subject.of('established')).to.deep.equal([]);
  });
}

async function holdTimeZero(ours: number, theirs: number): Promise<void> {
  const options = { peer: { timers: { holdSeconds: ours } }, open: { holdTime: theirs } };
  await withSession(options, async ({ neighbour, subject }) => {
    const before = neighbour.messages.length;
    await delay(4000);
    expect(neighbour.messages.length, 'no keepalive comes').to.equal(before);
    expect(subject.status().state).to.equal('established');
    expect(subject.status().negotiated).to.include({ holdTimeSeconds: 0, keepaliveSeconds: 0 });
  });
}

/** The neighbour reads nothing and talks all the while: only the send hold timer can notice. */
async function readsNothing(): Promise<void> {
  const peer = { timers: { holdSeconds: 3, sendHoldSeconds: 4 } };
  await withSession({ peer }, async ({ neighbour, subject, settings }) => {
    neighbour.keepAlive(500);
    neighbour.pauseReading();
    subject.apply({ settings, routes: bulkyRoutes(30_000) });
    const started = performance.now();
    const { reason, wasEstablished } = await subject.until('down', () => true, 30_000);
    expect(wasEstablished).to.equal(true);
    expect(reason).to.include({ kind: 'notification-sent', code: 8, subcode: 0 });
    expect(performance.now() - started).to.be.within(3500, 25_000);
    expect(subject.of('notification-sent').map(({ code }) => code)).to.deep.equal([8]);
    neighbour.silence();
    neighbour.resumeReading();
    // TCP is cut within the bound of `closing`, also though the NOTIFICATION could not leave
    await neighbour.until('the end of TCP', () => neighbour.ending !== 'open');
  });
}

/** A neighbour that reads slowly, but reads, is no neighbour that does not read. */
async function readsSlowly(): Promise<void> {
  const peer = { timers: { holdSeconds: 3, sendHoldSeconds: 3 } };
  await withSession({ peer }, async ({ neighbour, subject, settings }) => {
    neighbour.keepAlive(500);
    neighbour.onMessage = () => false;
    subject.apply({ settings, routes: bulkyRoutes(30_000) });
    for (let round = 0; round < 8; round += 1) {
      neighbour.pauseReading();
      await delay(600);
      neighbour.resumeReading();
      await delay(15);
    }
    expect(subject.of('down')).to.deep.equal([]);
    expect(subject.status().state).to.equal('established');
  });
}

describe('timers that watch the neighbour', () => {
  itConcurrently([
    {
      name: 'a silent neighbour gets 4/0 after the hold time, our keepalives went on (RFC 4271 §6.5)',
      run: silentNeighbour,
    },
    {
      name: 'UPDATEs and refreshes hold the session up as keepalives do (RFC 4271 §8.2.2)',
      run: () => heldUpBy([UPDATE, routeRefresh(1, 1), UPDATE, routeRefresh(1, 1)]),
    },
    {
      name: 'a malformed UPDATE that only withdraws holds it up too (RFC 7606 §2)',
      run: () => heldUpBy([BAD_UPDATE, BAD_UPDATE, BAD_UPDATE, BAD_UPDATE]),
    },
    {
      name: 'a neighbour that sends OPEN and then nothing gets 4/0 in OpenConfirm',
      run: silentAfterOpen,
    },
    {
      name: 'hold time 0 on both sides: no keepalive is sent and silence is no error (§4.2, §4.4)',
      run: () => holdTimeZero(0, 0),
    },
    {
      name: 'hold time 0 of the neighbour alone does it too',
      run: () => holdTimeZero(3, 0),
    },
    {
      name: 'a neighbour that reads nothing while it talks gets 8/0 and is cut (RFC 9687 §4.3)',
      run: readsNothing,
    },
    {
      name: 'a neighbour that reads slowly keeps its session (RFC 9687 §4.3)',
      run: readsSlowly,
    },
  ]);
});
