/**
 * Neighbours that mean harm, and keys that cannot be had: one of them must cost the others nothing. RFC 2918 has no limit on
 * how often a neighbour may ask for a refresh; RFC 2385 is worth nothing if a listener without the key lets people in.
 */

import { expect } from 'chai';
import { dialSpeaker, NeighbourPort } from '../support/scripted-neighbour.ts';
import { routes, Subject, settings, withSession } from '../support/speaker-under-test.ts';
import { join, routeRefresh, Type, toHex } from '../support/wire-bytes.ts';

/**
 * The longest time that the event loop was not ours while `work` ran. Time in which the process had no processor is not counted: then
 * it is the machine that is busy.
 */
async function longestStall(work: () => Promise<void>): Promise<number> {
  const read = () => ({ wallMs: performance.now(), usedMs: processorMs() });
  let longest = 0;
  let last = read();
  const timer = setInterval(() => {
    const now = read();
    // threads of the engine work beside the event loop, so more than the wall clock may have been used
    const stall = Math.min(now.wallMs - last.wallMs, now.usedMs - last.usedMs);
    longest = Math.max(longest, stall);
    last = now;
  }, 5);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

describe('a neighbour that means harm', function () {
  this.timeout(120_000);

  it('asks for all routes 2,800 times at once: gets them, and the event loop stays free', () => {
    const table = Array.from(
      { length: 100_000 },
      (_, at) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}/32`,
    );
    return withSession({ routes: table }, async ({ neighbour, subject }) => {
      const isEnd = (message: { type: number; body: Uint8Array }) =>
        message.type === Type.routeRefresh && toHex(message.body) === '00010201';
      const flood = join(...Array.from({ length: 2800 }, () => routeRefresh(1, 1)));
      const stall = await longestStall(async () => {
        neighbour.send(flood);
        await neighbour.until('an answer to the last request', () => {
          const { routesPending, counters } = subject.status();
          return counters.messagesReceived >= 2800 && routesPending === 0;
        });
        await neighbour.until('an answer', () => neighbour.messages.some(isEnd));
      });
      // some 10 ms of the machine; several seconds when each request walks the table
      expect(stall).to.be.below(1500);
      expect(neighbour.messages.filter(isEnd).length).to.be.within(1, 20);
      expect(subject.of('refresh-requested')).to.have.length(2800);
      expect(subject.status().state).to.equal('established');
    });
  });

  it('asks three times in one breath: the answer is whole', () =>
    withSession({ routes: ['10.1.0.0/16'] }, async ({ neighbour, subject }) => {
      neighbour.forget();
      neighbour.send(join(routeRefresh(1, 1), routeRefresh(1, 1), routeRefresh(1, 1)));
      const isEnd = ({ body }: { body: Uint8Array }) => toHex(body) === '00010201';
      await neighbour.until('an answer', () => neighbour.unread.some(isEnd));
      expect(subject.of('refresh-requested')).to.have.length(3);
      const kinds = neighbour.unread.map(({ body }) => toHex(body));
      // begin, the route, end: never an end without the route before it
      expect(kinds.slice(0, 3).map((text) => text.slice(0, 8))).to.include('00010101');
      expect(kinds.some((text) => text.endsWith('100a01'))).to.equal(true);
    }));
});

describe('a key that the listener cannot be given', () => {
  const tooLong = 'k'.repeat(81);

  it('is told, keeps that address out, and costs the other neighbours nothing', async () => {
    const port = await NeighbourPort.listen();
    const subject = new Subject({ listen: { port: 0 } });
    try {
      await subject.speaker.start();
      const guarded = settings(1, { name: 'guarded', passive: true, password: tooLong });
      subject.apply(
        { settings: guarded, routes: [] },
        { settings: settings(port.port), routes: routes('10.1.0.0/16') },
      );
      const { error } = await subject.until('accept-failed');
      expect(error.message).to.match(/1 to 80 octets, this one 81/);
      await (await port.accept()).establish();
      const { local } = await subject.until('listening');
      const unsigned = await dialSpeaker(local.port);
      await unsigned.expectEnd();
      expect(unsigned.messages).to.deep.equal([]);
      expect(subject.of('connection-refused')).to.have.length(1);
      // a key that can be had opens the door again; without any the neighbour is let in
      subject.apply(
        { settings: settings(1, { name: 'guarded', passive: true }), routes: [] },
        { settings: settings(port.port), routes: routes('10.1.0.0/16') },
      );
      const welcome = await dialSpeaker(local.port);
      await welcome.expectMessage(Type.open);
    } finally {
      await Promise.all([port.close(), subject.stop()]);
    }
  });

  it('does not keep the speaker from listening, however early it is said', async () => {
    const subject = new Subject({ listen: { port: 0 } });
    try {
      subject.apply({ settings: settings(1, { passive: true, password: tooLong }), routes: [] });
      await subject.speaker.start();
      expect(subject.of('listening')).to.have.length(1);
      expect(subject.of('accept-failed')).to.have.length(1);
      expect(subject.of('listen-failed')).to.deep.equal([]);
    } finally {
      await subject.stop();
    }
  });
});
