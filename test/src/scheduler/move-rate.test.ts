import { expect } from 'chai';
import { MOVE_RATE, MoveBudget } from '../../../src/scheduler/move-rate.ts';

describe('the rate of moves', () => {
  it('lets a burst go at once, and gives each one after it a time of its own', () => {
    const budget = new MoveBudget({ burst: 2, perSecond: 10 }, 0);
    const times = [1, 2, 3, 4].map(() => budget.reserve(0));
    expect(times).to.deep.equal([0, 0, 100, 200]);
    expect(budget.reserve(1000), 'after a pause').to.equal(1000);
  });

  it('is fast enough for the 3,333 claims of one dead node within 10 s', () => {
    const budget = new MoveBudget(MOVE_RATE, 0);
    const last = Array.from({ length: 3333 }, () => budget.reserve(0)).at(-1);
    expect(last).to.be.below(10_000);
  });
});
