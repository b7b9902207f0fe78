import { expect } from 'chai';
import fc from 'fast-check';
import { chooseNextHop } from '../../../src/demo/ecmp.ts';
import { RequestLog, STRIP_LENGTH } from '../../../src/demo/request-log.ts';

describe('requests of the demo', () => {
  it('take the same next hop for the same flow and table, and one of the table', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.uniqueArray(fc.nat(), { minLength: 1, maxLength: 8 }),
        (flow, hops) => {
          const hop = chooseNextHop(flow, hops);
          expect(hops).to.include(hop);
          expect(chooseNextHop(flow, hops)).to.equal(hop);
        },
      ),
    );
    expect(chooseNextHop(7, [])).to.equal(undefined);
  });

  it('spread evenly over two and over three next hops, with no rhythm', () => {
    for (const hops of [
      [1, 2],
      [1, 2, 3],
    ]) {
      const counts = new Map<number, number>();
      for (let flow = 0; flow < 3000; flow += 1) {
        const hop = chooseNextHop(flow, hops) ?? 0;
        counts.set(hop, (counts.get(hop) ?? 0) + 1);
      }
      for (const hop of hops) expect(counts.get(hop)).to.be.closeTo(3000 / hops.length, 150);
    }
  });

  it('are counted and shown in the order they were sent, also when their ends come late', () => {
    const log = new RequestLog();
    log.unroutable();
    const first = log.sent(1);
    const second = log.sent(3);
    expect(log.strip()).to.deep.equal({ from: 0, marks: '-xz' });
    second(false);
    first(true);
    expect(log.strip().marks).to.equal('-1c');
    expect(log.counts()).to.deep.equal({ sent: 3, answered: [1, 0, 0], lost: 1, unroutable: 1 });
    expect(log.lostOf(3)).to.equal(1);
  });

  it('fall out of the strip at its end, and still count', () => {
    const log = new RequestLog();
    const early = log.sent(2);
    for (let count = 0; count < STRIP_LENGTH; count += 1) log.sent(1)(true);
    early(true);
    expect(log.strip()).to.deep.equal({ from: 1, marks: '1'.repeat(STRIP_LENGTH) });
    expect(log.counts().answered).to.deep.equal([STRIP_LENGTH, 1, 0]);
  });
});
