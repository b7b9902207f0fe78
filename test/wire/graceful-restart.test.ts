/** The restarting side of RFC 4724, and how we leave: a planned restart closes silently, a shutdown withdraws and says why. */

import { expect } from 'chai';
import { bulkyRoutes } from '../support/bulky-routes.ts';
import { tenthsDuring } from '../support/own-clock.ts';
import type { NeighbourConnection, Received } from '../support/scripted-neighbour.ts';
import { withPair, withSession } from '../support/speaker-under-test.ts';
import { KEEPALIVE, open, shutdownText, Type, toHex } from '../support/wire-bytes.ts';

/** the value of the capability in an OPEN, read by hand; undefined where it is not there */
function capabilityValue(message: Received, code: number): string | undefined {
  let rest = message.body.subarray(10);
  while (rest.length > 0) {
    const length = rest[1] ?? 0;
    let capabilities = rest.subarray(2, 2 + length);
    while (capabilities.length > 0) {
      const end = 2 + (capabilities[1] ?? 0);
      if (capabilities[0] === code) return toHex(capabilities.subarray(2, end));
      capabilities = capabilities.subarray(end);
    }
    rest = rest.subarray(2 + length);
  }
  return undefined;
}

const GRACEFUL = 64;
const peer = { gracefulRestart: { restartSeconds: 120 } };
const V4 = '10.1.0.0/16';
const V6 = '2001:db8:77::/48';

async function theirOpen(neighbour: NeighbourConnection): Promise<Received> {
  return await neighbour.expectMessage(Type.open);
}

describe('graceful restart, the capability (RFC 4724 §3)', () => {
  it('is not sent where it is not configured', () =>
    withPair({}, async ({ port }) => {
      const message = await theirOpen(await port.accept());
      expect(capabilityValue(message, GRACEFUL)).to.equal(undefined);
    }));

  it('carries restart time and families with the F bit; R only after a restart, N never (RFC 8538)', () =>
    withPair({ peer }, async ({ port }) => {
      const message = await theirOpen(await port.accept());
      expect(capabilityValue(message, GRACEFUL)).to.equal('0078' + '00010180' + '00020180');
    }));

  it('has the R bit after a planned restart, and no longer once End-of-RIB is out', () =>
    withPair({ peer, restarting: true, routes: [V4] }, async ({ port, subject }) => {
      const first = await port.accept();
      const message = await first.establish();
      expect(capabilityValue(message, GRACEFUL)).to.equal('8078' + '00010180' + '00020180');
      await subject.until('routes-synced');
      first.reset();
      const second = await port.accept();
      expect(capabilityValue(await theirOpen(second), GRACEFUL)).to.match(/^0078/);
    }));

  it('keeps the R bit while no session came up', () =>
    withPair({ peer, restarting: true }, async ({ port }) => {
      const first = await port.accept();
      await theirOpen(first);
      first.reset();
      const second = await port.accept();
      expect(capabilityValue(await theirOpen(second), GRACEFUL)).to.match(/^8078/);
    }));
});

describe('how our side leaves', () => {
  it('a planned restart closes TCP with no NOTIFICATION and no withdraw (RFC 4724 §4)', () =>
    withSession({ peer, routes: [V4, V6] }, async ({ neighbour, subject }) => {
      const before = neighbour.messages.length;
      await subject.stop({ kind: 'restart' });
      expect(await neighbour.expectEnd()).to.equal('fin');
      expect(neighbour.messages.length).to.equal(before);
      expect(subject.of('notification-sent')).to.deep.equal([]);
    }));

  it('a shutdown withdraws all routes, then sends Cease with the text, in that order', () =>
    withSession({ peer, routes: [V4, V6] }, async ({ neighbour, subject }) => {
      await subject.stop({ kind: 'shutdown', text: 'going away', deadlineMs: 2000 });
      const first = await neighbour.expectMessage(Type.update);
      const second = await neighbour.expectMessage(Type.update);
      const withdrawn = [toHex(first.body), toHex(second.body)].toSorted();
      expect(withdrawn[0]).to.match(/^0000....[89]00f/);
      expect(withdrawn[0]).to.contain('3020010db80077');
      expect(withdrawn[1]).to.equal('0003100a010000');
      expect(await neighbour.expectNotification()).to.equal(
        `6/2 ${toHex(shutdownText('going away'))}`,
      );
      expect(await neighbour.expectEnd()).to.equal('fin');
    }));

  it('a shutdown does not wait for a neighbour that does not read: deadline, then the close timer', () =>
    withSession({}, async ({ neighbour, subject, settings }) => {
      neighbour.pauseReading();
      subject.apply({ settings, routes: bulkyRoutes(30_000) });
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(subject.status().routesPending).to.be.above(1000);
      const started = performance.now();
      const { tenths } = await tenthsDuring(
        subject.stop({ kind: 'shutdown', text: 'bye', deadlineMs: 500 }),
      );
      expect(tenths, 'tenths of a second by our own clock').to.be.below(70);
      // the hold time of the neighbour, which says nothing any more, is 30 s
      expect(performance.now() - started).to.be.within(400, 20_000);
    }));

  it('a shutdown while nobody answers ends at once', () =>
    withPair({}, async ({ port, subject }) => {
      await port.accept();
      await subject.stop({ kind: 'shutdown', text: 'bye', deadlineMs: 2000 });
      expect(subject.speaker.status()).to.deep.equal([]);
    }));

  it('after stop nothing is dialled and apply() changes nothing', () =>
    withSession({ routes: [V4] }, async ({ neighbour, subject, port, settings }) => {
      await subject.stop({ kind: 'shutdown', deadlineMs: 1000 });
      await neighbour.until('the end', () => neighbour.ending !== 'open');
      subject.apply({ settings, routes: [] });
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(port.count).to.equal(1);
    }));

  it('a neighbour that is stopped in OpenConfirm and answers late gets no routes', () =>
    withPair({ routes: [V4] }, async ({ port, subject }) => {
      const neighbour = await port.accept();
      await neighbour.expectMessage(Type.open);
      neighbour.send(open());
      await neighbour.expectKeepalive();
      const stopped = subject.stop({ kind: 'shutdown', deadlineMs: 1000 });
      neighbour.send(KEEPALIVE);
      expect(await neighbour.expectNotification()).to.equal('6/2');
      await neighbour.expectEnd();
      await stopped;
    }));
});
