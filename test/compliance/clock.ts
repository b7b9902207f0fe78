/** What every Clock must do. The real one and the manual one of the tests run it; `pass` lets time go by. */

import { expect } from 'chai';
import type { Clock } from '../../protocol/io/clock.ts';

export interface ClockWorld {
  readonly clock: Clock;
  /** at least this much time passes */
  pass(ms: number): Promise<void>;
}

export function describeClock(name: string, createWorld: () => ClockWorld): void {
  describe(`a clock: ${name}`, () => {
    it('only ever grows, by at least the time that passed', async () => {
      const { clock, pass } = createWorld();
      const start = clock.now();
      await pass(5);
      expect(clock.now() - start).to.be.at.least(5);
    });

    it('tells a wall time that people would recognise', () => {
      expect(createWorld().clock.wallTimeMs()).to.be.above(Date.UTC(2026, 0, 1) - 1);
    });

    it('calls back once, not before the delay has passed, and never inside startTimer', async () => {
      const { clock, pass } = createWorld();
      const firedAt: number[] = [];
      const start = clock.now();
      clock.startTimer(7.5, () => firedAt.push(clock.now() - start));
      expect(firedAt).to.have.length(0);
      await pass(30);
      expect(firedAt).to.have.length(1);
      expect(firedAt[0]).to.be.at.least(7.5);
    });

    it('is never early, wherever in a millisecond a timer starts', async () => {
      const { clock, pass } = createWorld();
      const earlyMs: number[] = [];
      let fired = 0;
      for (let at = 0; at < 80; at += 1) {
        const start = clock.now();
        const delayMs = 1 + (at % 9);
        clock.startTimer(delayMs, () => {
          fired += 1;
          const leftMs = delayMs - (clock.now() - start);
          // sums of fractions are not exact
          if (leftMs > 1e-6) earlyMs.push(leftMs);
        });
        // not a multiple of a millisecond
        if (at % 2 === 0) await pass(0.3);
      }
      await pass(30);
      expect(fired).to.equal(80);
      expect(earlyMs).to.deep.equal([]);
    });

    it('runs a delay of zero or less later, not at once', async () => {
      const { clock, pass } = createWorld();
      const fired: string[] = [];
      clock.startTimer(0, () => fired.push('zero'));
      clock.startTimer(-5, () => fired.push('negative'));
      expect(fired).to.have.length(0);
      await pass(10);
      expect(fired).to.have.members(['zero', 'negative']);
    });

    it('fires equal delays in the order they were started, and a shorter one first', async () => {
      const { clock, pass } = createWorld();
      const fired: string[] = [];
      clock.startTimer(15, () => fired.push('late'));
      clock.startTimer(5, () => fired.push('a'));
      clock.startTimer(5, () => fired.push('b'));
      await pass(40);
      expect(fired).to.deep.equal(['a', 'b', 'late']);
    });

    it('never calls back after cancel, and cancel after the call is harmless', async () => {
      const { clock, pass } = createWorld();
      let fired = 0;
      clock.startTimer(2, () => (fired += 1)).cancel();
      const other = clock.startTimer(2, () => (fired += 10));
      await pass(20);
      other.cancel();
      expect(fired).to.equal(10);
    });

    it('keeps a timer of a hundred days waiting', async () => {
      const { clock, pass } = createWorld();
      let fired = 0;
      const timer = clock.startTimer(100 * 86_400_000, () => (fired += 1));
      await pass(10);
      timer.cancel();
      expect(fired).to.equal(0);
    });
  });
}
