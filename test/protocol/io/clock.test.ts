/** The real clock and the manual one keep the same promises. */

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { nodeClock } from '../../../protocol/io/node-clock.ts';
import { nodeRandom } from '../../../protocol/io/node-random.ts';
import { describeClock } from '../../compliance/clock.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

describeClock('of the machine', () => ({
  clock: nodeClock,
  pass: async (ms) => {
    // setTimeout may be a millisecond early, and knows nothing of a fraction; the suite asks for at least
    const end = performance.now() + ms;
    if (ms >= 1) await delay(ms + 2);
    while (performance.now() < end);
  },
}));

describeClock('of the tests', () => {
  const clock = new ManualClock();
  return {
    clock,
    pass: async (ms) => clock.advance(ms),
  };
});

describe('the clock of the machine', () => {
  it('does not wake up over and over for a timer that is months away', async () => {
    const warnings: string[] = [];
    // Node says so when a delay does not fit and becomes 1 ms
    const onWarning = (warning: Error) => warnings.push(warning.name);
    process.on('warning', onWarning);
    const timer = nodeClock.startTimer(100 * 86_400_000, () => undefined);
    await delay(5);
    timer.cancel();
    process.off('warning', onWarning);
    expect(warnings).to.deep.equal([]);
  });
});

describe('the manual clock', () => {
  it('fires a timer that a callback started in the same advance, at its own time', () => {
    const clock = new ManualClock();
    const fired: number[] = [];
    clock.startTimer(10, () => clock.startTimer(5, () => fired.push(clock.now())));
    clock.advance(14);
    expect(fired).to.deep.equal([]);
    expect(clock.nextTimerMs).to.equal(1);
    clock.advance(100);
    expect(fired).to.deep.equal([15]);
    expect(clock.pendingTimers).to.equal(0);
    expect(clock.now()).to.equal(114);
  });
});

describe('random numbers', () => {
  for (const [name, random] of [
    ['of the engine', nodeRandom],
    ['from a seed', new SeededRandom(1)],
  ] as const) {
    it(`are at least 0 and below 1 and fill that space: ${name}`, () => {
      const values = Array.from({ length: 2_000 }, () => random.next());
      expect(values.every((value) => value >= 0 && value < 1)).to.equal(true);
      const tenths = new Set(values.map((value) => Math.floor(value * 10)));
      expect(tenths.size).to.equal(10);
    });
  }

  it('repeat with their seed and differ with another', () => {
    const draw = (seed: number) => new SeededRandom(seed).bytes(32);
    expect(draw(5)).to.deep.equal(draw(5));
    expect(draw(5)).to.not.deep.equal(draw(6));
  });
});
