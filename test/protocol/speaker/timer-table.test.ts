import { expect } from 'chai';
import { delayMs, TimerTable } from '../../../protocol/speaker/timer-table.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe('the timers of a neighbour', () => {
  it('fire once, at their time', () => {
    const clock = new ManualClock();
    const timers = new TimerTable(clock);
    const fired: number[] = [];
    timers.start('hold', 100, () => fired.push(clock.now()));
    clock.advance(99);
    expect(fired).to.deep.equal([]);
    clock.advance(500);
    expect(fired).to.deep.equal([100]);
    expect(timers.running).to.deep.equal([]);
  });

  it('count from their last start, whether it moves them later or earlier', () => {
    const clock = new ManualClock();
    const timers = new TimerTable(clock);
    const fired: number[] = [];
    timers.start('hold', 100, () => fired.push(clock.now()));
    clock.advance(60);
    timers.start('hold', 100, () => fired.push(clock.now()));
    clock.advance(60);
    expect(fired).to.deep.equal([]);
    timers.start('hold', 10, () => fired.push(clock.now()));
    clock.advance(1000);
    expect(fired).to.deep.equal([130]);
  });

  it('never fire after a stop', () => {
    const clock = new ManualClock();
    const timers = new TimerTable(clock);
    const fired: string[] = [];
    timers.start('hold', 100, () => fired.push('hold'));
    timers.start('keepalive', 100, () => fired.push('keepalive'));
    timers.stop('hold');
    clock.advance(1000);
    expect(fired).to.deep.equal(['keepalive']);
    timers.start('hold', 100, () => fired.push('hold'));
    timers.stopAll();
    clock.advance(1000);
    expect(clock.pendingTimers).to.equal(0);
    expect(fired).to.deep.equal(['keepalive']);
  });

  it('are shortened by up to a quarter where jitter is asked for', () => {
    expect(delayMs({ seconds: 4, jitter: false }, { next: () => 0 })).to.equal(4000);
    expect(delayMs({ seconds: 4, jitter: true }, { next: () => 0 })).to.equal(3000);
    expect(delayMs({ seconds: 4, jitter: true }, { next: () => 0.999 })).to.be.within(3990, 4000);
  });
});
