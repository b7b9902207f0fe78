/** What a neighbour can do to the agent's log: real bytes over TCP in, lines out. */

import { type Address, ipv4, type SpeakerEvent, TransportError } from 'bgp-ts';
import { expect } from 'chai';
import { SessionLog } from '../../../src/agent/session-log.ts';
import type { Log } from '../../../src/log/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { withSession } from '../../support/speaker-under-test.ts';
import { attribute, Good, hex, prefix4, update } from '../../support/wire-bytes.ts';

/** ORIGIN 9 is none: the routes count as withdrawn, and the session stays (RFC 7606 §7.1) */
const BAD_UPDATE = update({
  attributes: [attribute(0x40, 1, hex('09')), Good.asPath, Good.nextHop],
  nlri: [prefix4('10.0.1.0/24')],
});

function bench() {
  const clock = new ManualClock();
  const lines: string[] = [];
  const write = (event: string, fields: object, message: string) =>
    void lines.push(`${event} ${message} ${JSON.stringify(fields)}`);
  const log: Log = { info: write, warn: write, error: write, debug: write };
  return { clock, lines, log: new SessionLog(log, clock) };
}

describe('the lines of sessions in the log', () => {
  it('are few however many bad UPDATEs a neighbour sends, and say how many there were (B4)', async () => {
    const { clock, lines, log } = bench();
    await withSession({}, async ({ neighbour, subject }) => {
      subject.speaker.subscribe((event) => log.take(event));
      for (let at = 0; at < 50; at += 1) {
        neighbour.send(...Array.from({ length: 20 }, () => BAD_UPDATE));
      }
      await subject.until('update-fault', () => subject.of('update-fault').length === 1000);
    });
    const bad = () => lines.filter((line) => line.includes('bad UPDATE'));
    expect(bad()).to.have.length(5);
    clock.advance(60_000);
    expect(bad()).to.have.length(6);
    expect(bad()[5]).to.contain('"leftOut":994');
  });

  it('of strangers, and of sessions that come and go, are few as well', () => {
    const stranger = (number: number): Address => ipv4(`203.0.113.${number % 250}`);
    const floods: Readonly<Record<string, (at: number) => SpeakerEvent>> = {
      'connection-refused': (at) => ({
        kind: 'connection-refused',
        remote: { address: stranger(at), port: 4000 + at },
      }),
      'accept-failed': () => ({ kind: 'accept-failed', error: new TransportError('OTHER', 'x') }),
      'notification-received': () => ({ kind: 'notification-received', ...NOTIFICATION }),
      'notification-sent': () => ({ kind: 'notification-sent', ...NOTIFICATION }),
      // each from another address: a range of IPv6 has more of them than anybody can remember
      down: (at) => ({
        kind: 'down',
        peer: `range/2001:db8::${at.toString(16)}`,
        wasEstablished: true,
        reason: { kind: 'disconnected', detail: 'reset' },
      }),
    };
    for (const [kind, flood] of Object.entries(floods)) {
      const { lines, log } = bench();
      for (let at = 0; at < 10_000; at += 1) log.take(flood(at));
      expect(lines.length, kind).to.be.below(400);
      log.close();
      const left = lines.filter((line) => line.includes('leftOut'));
      expect(left.length, `${kind}: what was left out is told`).to.be.at.least(1);
    }
  });
});

const NOTIFICATION = {
  peer: 'range/203.0.113.7',
  code: 6,
  subcode: 2,
  name: 'Cease',
  text: 'x',
  data: new Uint8Array(),
} as const;
