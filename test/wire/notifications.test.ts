/** Every NOTIFICATION that is not about one malformed message, in both directions (RFC 4271 §6.4 to §6.8 and successors). */

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { NeighbourConnection } from '../support/scripted-neighbour.ts';
import {
  type Pair,
  routes,
  settings,
  withPair,
  withSession,
} from '../support/speaker-under-test.ts';
import {
  GOOD,
  hex,
  KEEPALIVE,
  message,
  notification,
  open,
  prefix4,
  routeRefresh,
  shutdownText,
  Type,
  toHex,
  update,
} from '../support/wire-bytes.ts';

type State = 'open-sent' | 'open-confirm' | 'established';

async function reach(pair: Pair, state: State): Promise<NeighbourConnection> {
  const neighbour = await pair.port.accept();
  if (state === 'established') {
    await neighbour.establish();
    return neighbour;
  }
  await neighbour.expectMessage(Type.open);
  if (state === 'open-confirm') {
    neighbour.send(open());
    await neighbour.expectKeepalive();
  }
  expect(pair.subject.status().state).to.equal(state);
  return neighbour;
}

const UPDATE = update({ attributes: GOOD, nlri: [prefix4('10.0.0.0/8')] });
const BAD_UPDATE = update({ attributes: [hex('400100')], nlri: [prefix4('10.0.0.0/8')] });

describe('messages in the wrong state (RFC 6608)', () => {
  const cases: readonly (readonly [State, string, Uint8Array, string])[] = [
    ['open-sent', 'KEEPALIVE', KEEPALIVE, '5/1 04'],
    ['open-sent', 'UPDATE', UPDATE, '5/1 02'],
    ['open-sent', 'malformed UPDATE', BAD_UPDATE, '5/1 02'],
    ['open-sent', 'ROUTE-REFRESH', routeRefresh(1, 1), '5/1 05'],
    ['open-confirm', 'OPEN', open(), '5/2 01'],
    ['open-confirm', 'UPDATE', UPDATE, '5/2 02'],
    ['open-confirm', 'malformed UPDATE', BAD_UPDATE, '5/2 02'],
    ['open-confirm', 'ROUTE-REFRESH', routeRefresh(1, 1), '5/2 05'],
    ['established', 'OPEN', open(), '5/3 01'],
    ['established', 'malformed OPEN', open({ version: 3 }), '5/3 01'],
  ];
  for (const [state, name, bytes, expected] of cases) {
    it(`${name} in ${state}: sends ${expected}, the data being its type`, () =>
      withPair({}, async (pair) => {
        const neighbour = await reach(pair, state);
        neighbour.send(bytes);
        expect(await neighbour.expectNotification()).to.equal(expected);
        expect(await neighbour.expectEnd()).to.equal('fin');
        const { reason } = await pair.subject.until('down');
        expect(reason).to.include({ kind: 'notification-sent', code: 5 });
        expect(pair.subject.of('update-received'), 'no route is believed').to.deep.equal([]);
      }));
  }
});

describe('ROUTE-REFRESH errors (RFC 7313 §5)', () => {
  for (const subtype of [1, 2]) {
    it(`subtype ${subtype} with an octet too many: sends 7/1 with the whole message`, () =>
      withSession({}, async ({ neighbour, subject }) => {
        const bytes = message(Type.routeRefresh, hex(`0001 0${subtype} 01 aa`));
        neighbour.send(bytes);
        expect(await neighbour.expectNotification()).to.equal(`7/1 ${toHex(bytes)}`);
        await neighbour.expectEnd();
        const { reason } = await subject.until('down');
        expect(reason).to.include({ kind: 'notification-sent', code: 7, subcode: 1 });
      }));
  }
});

describe('a NOTIFICATION that we receive (RFC 4271 §6.4)', () => {
  const received: readonly (readonly [string, Uint8Array, string])[] = [
    ['Cease with text (RFC 9003 §2)', notification(6, 2, shutdownText('tschüß, bis 10:00')), '6/2'],
    ['Cease without data', notification(6, 4), '6/4'],
    ['unsupported version', notification(2, 1, hex('0004')), '2/1'],
    ['bad peer AS', notification(2, 2), '2/2'],
    ['hold timer expired', notification(4, 0), '4/0'],
    ['code and subcode that nobody knows', notification(99, 77, hex('010203')), '99/77'],
    ['a text longer than its octets', notification(6, 2, hex('ff 4142')), '6/2'],
    ['a text that is no UTF-8', notification(6, 2, hex('02 c328')), '6/2'],
  ];
  for (const state of ['open-sent', 'open-confirm', 'established'] as const) {
    for (const [name, bytes, code] of received) {
      it(`${name} in ${state}: ends the session and is not answered`, () =>
        withPair({}, async (pair) => {
          const neighbour = await reach(pair, state);
          neighbour.send(bytes);
          await neighbour.expectEnd();
          const { reason, wasEstablished } = await pair.subject.until('down');
          expect(wasEstablished).to.equal(state === 'established');
          expect(reason.kind).to.equal('notification-received');
          const [event] = pair.subject.of('notification-received');
          expect(`${event?.code}/${event?.subcode}`).to.equal(code);
          expect(toHex(event?.data ?? hex(''))).to.equal(toHex(bytes.slice(21)));
          expect(pair.subject.of('notification-sent')).to.deep.equal([]);
          expect(neighbour.messages.map(({ type }) => type)).to.not.include(Type.notification);
        }));
    }
  }

  for (const text of ['maintenance', 'tschüß 再见', 'x'.repeat(255)]) {
    it(`tells the text of RFC 9003, ${text.length} characters, in event and status`, () =>
      withSession({}, async ({ neighbour, subject }) => {
        neighbour.send(notification(6, 2, shutdownText(text)));
        const event = await subject.until('notification-received');
        expect(event.text).to.equal(text);
        expect(event.name).to.match(/shutdown/i);
        await subject.until('down');
        expect(subject.status().lastError).to.contain(text);
      }));
  }

  it('and the session comes back by itself', () =>
    withSession({}, async ({ neighbour, port }) => {
      neighbour.send(notification(6, 4, shutdownText('reset')));
      await (await port.accept()).establish();
    }));
});

describe('Cease that we send (RFC 4486)', () => {
  it('a neighbour that is removed gets 6/3, and nothing is dialled any more', () =>
    withSession({ routes: ['10.1.0.0/16'] }, async ({ neighbour, subject, port }) => {
      subject.apply();
      expect(await neighbour.expectNotification()).to.match(/^6\/3/);
      expect(await neighbour.expectEnd()).to.equal('fin');
      await delay(300);
      expect(port.count).to.equal(1);
      expect(subject.speaker.status()).to.deep.equal([]);
    }));

  for (const [what, change] of [
    ['hold time', { timers: { holdSeconds: 60 } }],
    ['families', { families: ['ipv4'] }],
    ['graceful restart', { gracefulRestart: { restartSeconds: 120 } }],
  ] as const) {
    it(`a change of ${what} sends 6/6 and opens a session with the new settings`, () =>
      withSession({}, async ({ neighbour, subject, port }) => {
        subject.apply({ settings: settings(port.port, change), routes: [] });
        expect(await neighbour.expectNotification()).to.match(/^6\/6/);
        await neighbour.expectEnd();
        const again = await port.accept();
        const { body } = await again.expectMessage(Type.open);
        expect(body[4]).to.equal(what === 'hold time' ? 60 : 30);
        again.send(open(), KEEPALIVE);
        await subject.until('established', () => subject.of('established').length === 2);
      }));
  }

  it('a change of the next hop alone keeps the session and sends the routes again', () =>
    withSession(
      { routes: ['2001:db8:1::/48'] },
      async ({ neighbour, subject, port, settings: peer }) => {
        const { ipv6 } = settings(port.port).nextHop ?? {};
        if (ipv6 === undefined) throw new Error('the settings have a next hop');
        const nextHop = { ipv6: { ...ipv6, w3: 0x99 } };
        subject.apply({ settings: { ...peer, nextHop }, routes: routes('2001:db8:1::/48') });
        const { body } = await neighbour.expectMessage(Type.update);
        expect(toHex(body)).to.contain('20010db8000000000000000000000099');
        expect(subject.of('down')).to.deep.equal([]);
      },
    ));

  for (const text of [undefined, 'maintenance until 10:00', 'tschüß 再见']) {
    it(`stop with text ${JSON.stringify(text)}: sends 6/2 with exactly these octets (RFC 9003 §2)`, () =>
      withSession({}, async ({ neighbour, subject }) => {
        const stopped = subject.stop({
          kind: 'shutdown',
          deadlineMs: 1000,
          ...(text === undefined ? {} : { text }),
        });
        const expected = text === undefined ? '6/2' : `6/2 ${toHex(shutdownText(text))}`;
        expect(await neighbour.expectNotification()).to.equal(expected);
        expect(await neighbour.expectEnd()).to.equal('fin');
        await stopped;
        const [sent] = subject.of('notification-sent');
        expect(sent).to.include({ code: 6, subcode: 2, text: text ?? '' });
      }));
  }

  it('a text longer than 255 octets is cut between two characters (RFC 9003 §2)', () =>
    withSession({}, async ({ neighbour, subject }) => {
      const stopped = subject.stop({ kind: 'shutdown', deadlineMs: 1000, text: '再'.repeat(100) });
      const { body } = await neighbour.expectMessage(Type.notification);
      expect(body[2]).to.equal(255);
      expect(new TextDecoder('utf-8', { fatal: true }).decode(body.subarray(3))).to.equal(
        '再'.repeat(85),
      );
      await stopped;
    }));

  for (const state of ['open-sent', 'open-confirm'] as const) {
    it(`stop in ${state} sends Cease too (RFC 4271 §8.2.2)`, () =>
      withPair({}, async (pair) => {
        const neighbour = await reach(pair, state);
        const stopped = pair.subject.stop({ kind: 'shutdown', deadlineMs: 1000, text: 'bye' });
        expect(await neighbour.expectNotification()).to.equal('6/2 03627965');
        await neighbour.expectEnd();
        await stopped;
      }));
  }
});
