/**
 * A process that was busy for longer than the hold time: what the neighbour sent meanwhile lies unread in the kernel, and a
 * timer that is due must not be judged before it has been read. Alone in its file because it stops the whole event loop.
 */

import { expect } from 'chai';
import { withSession } from '../support/speaker-under-test.ts';
import { KEEPALIVE, Type } from '../support/wire-bytes.ts';

function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const peer = { timers: { holdSeconds: 3 } };

describe('a process that was busy for longer than the hold time', () => {
  it('keeps the session if the neighbour has sent a keepalive (RFC 4271 §6.5)', () =>
    withSession({ peer }, async ({ neighbour, subject }) => {
      neighbour.send(KEEPALIVE);
      blockEventLoop(3300);
      await neighbour.expectKeepalive();
      neighbour.send(KEEPALIVE);
      await neighbour.expectKeepalive();
      expect(subject.of('down')).to.deep.equal([]);
      expect(subject.status().state).to.equal('established');
    }));

  it('still ends it if the neighbour was silent', () =>
    withSession({ peer }, async ({ neighbour }) => {
      const before = neighbour.messages.length;
      blockEventLoop(3300);
      const { body } = await neighbour.expectMessage(Type.notification);
      expect([...body]).to.deep.equal([4, 0]);
      // one was due when the process woke; a whole hold time more would have brought three besides
      const since = neighbour.messages.slice(before);
      expect(since.filter(({ type }) => type === Type.keepalive).length).to.be.at.most(2);
    }));
});
