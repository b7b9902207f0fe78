import { expect } from 'chai';
import { LineLimit } from '../../../src/log/line-limit.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const MINUTE_MS = 60_000;

function bench() {
  const clock = new ManualClock();
  const limit = new LineLimit(clock);
  const written: string[] = [];
  const say = (kind: string, text: string) =>
    limit.line(kind, (leftOut) => written.push(leftOut === 0 ? text : `${text} (${leftOut})`));
  return { clock, limit, written, say };
}

describe('lines that others cause', () => {
  it('are written at first, then the last one of a minute, with how many were left out', () => {
    const { clock, written, say } = bench();
    for (let at = 1; at <= 1000; at += 1) say('tor', `${at}`);
    expect(written).to.deep.equal(['1', '2', '3', '4', '5']);
    clock.advance(MINUTE_MS);
    expect(written.splice(0)).to.deep.equal(['1', '2', '3', '4', '5', '1000 (994)']);
    // ten a second for an hour
    for (let second = 0; second < 3600; second += 1) {
      for (let at = 0; at < 10; at += 1) say('tor', 'again');
      clock.advance(1000);
    }
    expect(written.length).to.be.within(59, 60);
    expect(written[5]).to.equal('again (599)');
  });

  it('of one are not counted against another', () => {
    const { written, say } = bench();
    for (let at = 0; at < 100; at += 1) say('tor-a', 'a');
    say('tor-b', 'b');
    expect(written.filter((text) => text === 'b')).to.have.length(1);
  });

  it('are all written again after a minute without any', () => {
    const { clock, written, say } = bench();
    for (let at = 0; at < 3; at += 1) say('tor', 'x');
    clock.advance(MINUTE_MS);
    for (let at = 0; at < 5; at += 1) say('tor', 'y');
    expect(written).to.deep.equal(['x', 'x', 'x', 'y', 'y', 'y', 'y', 'y']);
  });

  it('cost a bounded memory and a bounded number of lines, however many kinds somebody makes up', () => {
    const { clock, written, say } = bench();
    for (let at = 0; at < 100_000; at += 1) say(`stranger ${at}`, 'x');
    expect(written.length).to.be.below(400);
    expect(clock.pendingTimers).to.be.below(400);
    clock.advance(MINUTE_MS);
    expect(written.at(-1)).to.match(/^x \(99\d{3}\)$/);
  });

  it('that wait are written at the end, and no timer is left', () => {
    const { clock, limit, written, say } = bench();
    for (let at = 0; at < 10; at += 1) say('tor', `${at}`);
    limit.close();
    expect(written.at(-1)).to.equal('9 (4)');
    expect(clock.pendingTimers).to.equal(0);
  });
});
