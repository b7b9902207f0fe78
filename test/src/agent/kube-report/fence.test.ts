import { expect } from 'chai';
import fc from 'fast-check';
import {
  caughtUp,
  FENCE_MS,
  FENCED,
  type Fence,
  isFenced,
  isSettled,
  lapsed,
  renewed,
  SETTLE_MS,
} from '../../../../src/agent/kube-report/fence.ts';

/** renewals that began at these times and took no time, then caught up */
function settled(...timesMs: readonly number[]): Fence {
  let fence: Fence = FENCED;
  for (const atMs of timesMs) fence = renewed(fence, atMs, atMs);
  return caughtUp(fence, fence.rowBeganMs);
}

describe('the fence of a node', () => {
  it('is up from the beginning until renewals have settled and the claims were seen', () => {
    const once = renewed(FENCED, 0, 10);
    expect(isFenced(FENCED, 0)).to.equal(true);
    expect(isFenced(once, 10)).to.equal(true);
    expect(isSettled(once)).to.equal(false);
    const twice = renewed(once, 5000, 5010);
    expect(isSettled(twice)).to.equal(true);
    expect(isFenced(twice, 5010)).to.equal(true);
    expect(isFenced(caughtUp(twice, 0), 5010)).to.equal(false);
  });

  it('comes 12 s after the BEGINNING of the last renewal that succeeded', () => {
    const fence = renewed(settled(0, 5000), 10_000, 12_900);
    expect(isFenced(fence, 10_000 + FENCE_MS - 1)).to.equal(false);
    expect(isFenced(fence, 10_000 + FENCE_MS)).to.equal(true);
  });

  it('stays when the Lease is renewed again, until the claims were seen anew', () => {
    const gone = lapsed(settled(0, 5000), 30_000);
    const back = renewed(gone, 30_000, 30_000);
    expect(isFenced(back, 30_000)).to.equal(true);
    expect(isFenced(caughtUp(back, 0), 30_000), 'of the row before the gap').to.equal(true);
    const settledAgain = renewed(back, 30_000 + SETTLE_MS, 30_000 + SETTLE_MS);
    expect(isSettled(settledAgain)).to.equal(true);
    expect(isFenced(caughtUp(settledAgain, 30_000), 34_000)).to.equal(false);
  });

  it('a gap that nobody looked at counts: the process was frozen', () => {
    const frozen = settled(0, 5000);
    expect(isFenced(frozen, 25_000)).to.equal(true);
    expect(renewed(frozen, 25_000, 25_010).hasCaughtUp).to.equal(false);
  });

  it('an answer that took longer than the fence is the first of a new row', () => {
    const fence = renewed(settled(0, 5000), 6000, 5000 + FENCE_MS);
    expect(fence.hasCaughtUp).to.equal(false);
  });

  it('never is open longer than 12 s after a renewal, whatever happens in between', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('renew'), pause: fc.nat(8000), took: fc.nat(3000) }),
        fc.record({ kind: fc.constant('look'), pause: fc.nat(20_000), took: fc.constant(0) }),
        fc.record({ kind: fc.constant('claims'), pause: fc.nat(3000), took: fc.constant(0) }),
      ),
    );
    fc.assert(
      fc.property(steps, (all) => {
        const run = new Run();
        for (const step of all) {
          run.take(step);
          if (isFenced(run.fence, run.nowMs)) continue;
          expect(run.nowMs - run.lastMs).to.be.below(FENCE_MS);
          expect(run.lastMs - run.rowMs).to.be.at.least(SETTLE_MS);
        }
      }),
    );
  });
});

/** Counts by itself when the row of renewals began. */
class Run {
  fence: Fence = FENCED;
  nowMs = 0;
  lastMs = Number.NEGATIVE_INFINITY;
  rowMs = Number.NaN;

  take({ kind, pause, took }: { kind: string; pause: number; took: number }): void {
    this.nowMs += pause;
    if (kind === 'look') this.fence = lapsed(this.fence, this.nowMs);
    if (kind === 'claims' && isSettled(this.fence)) {
      this.fence = caughtUp(this.fence, this.fence.rowBeganMs);
    }
    if (kind !== 'renew') return;
    const startedMs = this.nowMs;
    this.nowMs += took;
    if (this.nowMs - this.lastMs >= FENCE_MS) this.rowMs = startedMs;
    this.fence = renewed(this.fence, startedMs, this.nowMs);
    this.lastMs = startedMs;
  }
}
