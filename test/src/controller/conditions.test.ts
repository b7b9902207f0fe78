import { expect } from 'chai';
import { changedCondition, timeText, withCondition } from '../../../src/controller/conditions.ts';
import type { Condition } from '../../../src/model/service.ts';

const NOW_MS = Date.UTC(2026, 0, 1, 12, 30, 15, 678);
const wanted = { type: 'Up', status: 'True', reason: 'AllUp', message: 'all are up' } as const;
const standing: Condition = { ...wanted, lastTransitionTime: '2025-12-31T00:00:00Z' };

describe('conditions', () => {
  it('are not written again while they say the same', () => {
    expect(changedCondition([standing], wanted, NOW_MS)).to.equal(undefined);
  });

  it('keep the time of their last transition unless the status changes', () => {
    expect(changedCondition([standing], { ...wanted, message: 'still' }, NOW_MS)).to.deep.equal({
      ...standing,
      message: 'still',
    });
    const down = { ...wanted, status: 'False', reason: 'Down' } as const;
    expect(changedCondition([standing], down, NOW_MS)).to.deep.equal({
      ...down,
      lastTransitionTime: '2026-01-01T12:30:15Z',
    });
    expect(changedCondition([], wanted, NOW_MS)?.lastTransitionTime).to.equal(timeText(NOW_MS));
  });

  it('are written again for another generation', () => {
    const seen = { ...wanted, observedGeneration: 2 };
    expect(changedCondition([standing], seen, NOW_MS)?.observedGeneration).to.equal(2);
  });

  it('have messages of a length that people read', () => {
    const long = changedCondition([], { ...wanted, message: 'x'.repeat(5000) }, NOW_MS);
    expect(long?.message).to.have.length(1024);
    expect(
      changedCondition([long ?? standing], { ...wanted, message: 'x'.repeat(5000) }, NOW_MS),
      'nor are those written again',
    ).to.equal(undefined);
  });

  it('replace the one of their type and leave the others where they are', () => {
    const other: Condition = { ...standing, type: 'Other' };
    const changed = { ...standing, message: 'new' };
    expect(withCondition([standing, other], changed)).to.deep.equal([changed, other]);
    expect(withCondition([other], changed)).to.deep.equal([other, changed]);
  });
});
