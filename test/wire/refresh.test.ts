/** What our side sends after Established and on request: the initial set, End-of-RIB, route refresh (RFC 4724, 2918, 7313). */

import { expect } from 'chai';
import { endOfRibFamily, type NeighbourConnection } from '../support/scripted-neighbour.ts';
import { routes, type SessionOptions, withSession } from '../support/speaker-under-test.ts';
import {
  Capability,
  GOOD,
  hex,
  KEEPALIVE,
  message,
  prefix4,
  routeRefresh,
  Type,
  toHex,
  update,
} from '../support/wire-bytes.ts';

const V4 = '10.1.0.0/16';
const V6 = '2001:db8:77::/48';
const V4_HEX = '100a01';
const V6_HEX = '3020010db80077';
const asn4 = Capability.asn4(65001);
const PLAIN = [Capability.ipv4, Capability.ipv6, Capability.routeRefresh, asn4];

const both: SessionOptions = { routes: [V4, V6] };
const plain: SessionOptions = { ...both, open: { capabilities: PLAIN } };

/** the bodies of the next messages as `type hex`, keepalives left out */
async function nextMessages(neighbour: NeighbourConnection, count: number): Promise<string[]> {
  await neighbour.until(`${count} messages`, () => {
    return neighbour.unread.filter(({ type }) => type !== Type.keepalive).length >= count;
  });
  const messages = neighbour.unread.filter(({ type }) => type !== Type.keepalive);
  neighbour.forget();
  return messages.map(({ type, body }) => `${type} ${toHex(body)}`);
}

/** Something that is answered for sure, so that what was not answered can be told from what comes late. */
async function expectNothingBut(
  neighbour: NeighbourConnection,
  subject: { status(): { counters: { messagesReceived: number } } },
  sent: number,
): Promise<void> {
  const before = subject.status().counters.messagesReceived;
  neighbour.send(...Array.from({ length: sent }, () => KEEPALIVE));
  await neighbour.until('our side has read it', () => true);
  while (subject.status().counters.messagesReceived < before + sent) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(neighbour.unread.filter(({ type }) => type !== Type.keepalive)).to.deep.equal([]);
}

describe('the initial set and End-of-RIB (RFC 4724 §2)', () => {
  it('all routes of both families, then one End-of-RIB per family, each once', () =>
    withSession(both, async ({ neighbour }) => {
      const updates = neighbour.messages.filter(({ type }) => type === Type.update);
      const bodies = updates.map(({ body }) => toHex(body));
      const ends = updates.filter(({ body }) => endOfRibFamily(body));
      expect(ends).to.have.lengthOf(2);
      expect(bodies.filter((text) => text.includes(V4_HEX))).to.have.lengthOf(1);
      expect(bodies.filter((text) => text.includes(V6_HEX))).to.have.lengthOf(1);
      const at = (text: string) => bodies.findIndex((body) => body.includes(text));
      expect(at(V4_HEX)).to.be.below(bodies.indexOf('00000000'));
      const ipv6End = updates.findIndex(({ body }) => endOfRibFamily(body) && body.length > 4);
      expect(at(V6_HEX)).to.be.below(ipv6End);
    }));

  it('no routes at all: still End-of-RIB', () =>
    withSession({}, async ({ neighbour }) => {
      expect(neighbour.messages.filter(({ body }) => endOfRibFamily(body))).to.have.lengthOf(2);
    }));

  it('a family that was not agreed: no routes, no End-of-RIB, and the refusal is told', () =>
    withSession(
      { ...both, open: { capabilities: [Capability.ipv4, asn4] }, endOfRibs: 1 },
      async ({ neighbour, subject }) => {
        const all = neighbour.messages.map(({ body }) => toHex(body)).join(' ');
        expect(all).to.not.contain(V6_HEX);
        expect(neighbour.messages.filter(({ body }) => endOfRibFamily(body))).to.have.lengthOf(1);
        const { count, first } = await subject.until('routes-refused');
        expect(count).to.equal(1);
        expect(first[0]?.detail).to.be.a('string').and.not.equal('');
      },
    ));

  it('a later change sends only the difference and no second End-of-RIB', () =>
    withSession(both, async ({ neighbour, subject, settings }) => {
      subject.apply({ settings, routes: routes(V4, V6, '10.2.0.0/16') });
      const [first] = await nextMessages(neighbour, 1);
      expect(first).to.contain('100a02').and.not.contain(V4_HEX);
      subject.apply({ settings, routes: routes(V6, '10.2.0.0/16') });
      expect(await nextMessages(neighbour, 1)).to.deep.equal([`2 0003${V4_HEX}0000`]);
      await expectNothingBut(neighbour, subject, 1);
    }));

  it('the same wishes twice send nothing', () =>
    withSession(both, async ({ neighbour, subject, settings }) => {
      const before = subject.status().counters.bytesSent;
      for (let round = 0; round < 3; round += 1) {
        subject.apply({ settings: { ...settings }, routes: routes(V6, V4) });
      }
      await expectNothingBut(neighbour, subject, 2);
      expect(subject.status().counters.bytesSent).to.equal(before);
    }));
});

describe('route refresh', () => {
  it('plain (RFC 2918 §4): the routes of the family again, those of no other', () =>
    withSession(plain, async ({ neighbour, subject }) => {
      neighbour.send(routeRefresh(1, 1));
      const [first = ''] = await nextMessages(neighbour, 1);
      expect(first).to.contain(V4_HEX);
      neighbour.send(routeRefresh(2, 1));
      const [second = ''] = await nextMessages(neighbour, 1);
      expect(second).to.contain(V6_HEX);
      await expectNothingBut(neighbour, subject, 1);
      expect(subject.of('refresh-requested').map(({ family }) => family)).to.deep.equal([
        { afi: 1, safi: 1 },
        { afi: 2, safi: 1 },
      ]);
    }));

  it('enhanced (RFC 7313 §4): begin, routes, end', () =>
    withSession(both, async ({ neighbour, subject }) => {
      neighbour.send(routeRefresh(1, 1));
      const messages = await nextMessages(neighbour, 3);
      expect(messages[0]).to.equal('5 00010101');
      expect(messages[1]).to.contain(V4_HEX);
      expect(messages[2]).to.equal('5 00010201');
      await expectNothingBut(neighbour, subject, 1);
    }));

  it('enhanced with nothing to send: begin and end all the same', () =>
    withSession({}, async ({ neighbour }) => {
      neighbour.send(routeRefresh(2, 1));
      expect(await nextMessages(neighbour, 2)).to.deep.equal(['5 00020101', '5 00020201']);
    }));

  it('of both families at once', () =>
    withSession(both, async ({ neighbour }) => {
      neighbour.send(routeRefresh(1, 1), routeRefresh(2, 1));
      const messages = await nextMessages(neighbour, 6);
      const all = messages.join(' ');
      for (const text of ['00010101', '00010201', '00020101', '00020201', V4_HEX, V6_HEX]) {
        expect(all).to.contain(text);
      }
    }));

  const ignored: readonly (readonly [string, Uint8Array])[] = [
    ['an unknown subtype (RFC 7313 §5)', routeRefresh(1, 1, 3)],
    ['subtype 255 (reserved)', routeRefresh(1, 1, 255)],
    ['an unknown subtype of any length (RFC 7313 §5)', message(5, hex('0001 09 01 0102030405'))],
    ['a family that was not agreed (RFC 2918 §4)', routeRefresh(1, 128)],
    ['an unknown family', routeRefresh(16388, 71)],
    ['the begin of a refresh of theirs', routeRefresh(1, 1, 1)],
    ['the end of a refresh of theirs', routeRefresh(1, 1, 2)],
  ];
  for (const [name, bytes] of ignored) {
    it(`ignores ${name}`, () =>
      withSession(both, async ({ neighbour, subject }) => {
        neighbour.send(bytes);
        await expectNothingBut(neighbour, subject, 2);
        expect(subject.status().state).to.equal('established');
      }));
  }

  it('a refresh of theirs: what they do not say again is held no longer (RFC 7313 §4)', () =>
    withSession({ peer: { inbound: { kind: 'keep' } } }, async ({ neighbour, subject }) => {
      const announce = (...nlri: readonly string[]) =>
        update({ attributes: GOOD, nlri: nlri.map(prefix4) });
      neighbour.send(announce('10.0.1.0/24', '10.0.2.0/24'));
      neighbour.send(routeRefresh(1, 1, 1), announce('10.0.2.0/24', '10.0.3.0/24'));
      await subject.until('update-received', () => subject.of('update-received').length === 2);
      expect(subject.status().routesHeld).to.equal(3);
      neighbour.send(routeRefresh(1, 1, 2));
      await expectNothingBut(neighbour, subject, 1);
      expect(subject.status().routesHeld).to.equal(2);
    }));

  it('counts what it refreshed once: the session is in step afterwards', () =>
    withSession(both, async ({ neighbour, subject, settings }) => {
      neighbour.send(routeRefresh(1, 1));
      await nextMessages(neighbour, 3);
      subject.apply({ settings, routes: [] });
      const withdraws = (await nextMessages(neighbour, 2)).join(' ');
      expect(withdraws).to.contain(V4_HEX).and.contain(V6_HEX);
      expect(subject.status().routesAdvertised).to.deep.equal({ ipv4: 0, ipv6: 0 });
    }));
});
