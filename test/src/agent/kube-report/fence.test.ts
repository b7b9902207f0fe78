import { expect } from 'chai';
import fc from 'fast-check';
import {
  caughtUp,
  FENCED,
  type Fence,
  isFenced,
  isSettled,
  lapsed,
  renewed,
} from '../../../../src/agent/kube-report/fence.ts';
import { DEFAULT_LEASE_TIMES, leaseTimes } from '../../../../src/model/lease-times.ts';

const TIMES = DEFAULT_LEASE_TIMES;
const { fenceMs: FENCE_MS, settleMs: SETTLE_MS } = TIMES;

/** renewals that began at these times and took no time, then caught up */
function settled(...timesMs: readonly number[]): Fence {
  let fence: Fence = FENCED;
  for (const atMs of timesMs) fence = renewed(fence, { startedMs: atMs, nowMs: atMs }, TIMES);
  return caughtUp(fence, fence.rowBeganMs);
}

describe('the fence of a node', () => {
  it('is up from the beginning until renewals have settled and the claims were seen', () => {
    const once = renewed(FENCED, { startedMs: 0, nowMs: 10 }, TIMES);
    expect(isFenced(FENCED, 0, TIMES)).to.equal(true);
    expect(isFenced(once, 10, TIMES)).to.equal(true);
    expect(isSettled(once, TIMES)).to.equal(false);
    const twice = renewed(once, { startedMs: 5000, nowMs: 5010 }, TIMES);
    expect(isSettled(twice, TIMES)).to.equal(true);
    expect(isFenced(twice, 5010, TIMES)).to.equal(true);
    expect(isFenced(caughtUp(twice, 0), 5010, TIMES)).to.equal(false);
  });

  it('comes 12 s after the BEGINNING of the last renewal that succeeded', () => {
    const fence = renewed(settled(0, 5000), { startedMs: 10_000, nowMs: 12_900 }, TIMES);
    expect(isFenced(fence, 10_000 + FENCE_MS - 1, TIMES)).to.equal(false);
    expect(isFenced(fence, 10_000 + FENCE_MS, TIMES)).to.equal(true);
  });

  it('stays when the Lease is renewed again, until the claims were seen anew', () => {
    const gone = lapsed(settled(0, 5000), 30_000, TIMES);
    const back = renewed(gone, { startedMs: 30_000, nowMs: 30_000 }, TIMES);
    expect(isFenced(back, 30_000, TIMES)).to.equal(true);
    expect(isFenced(caughtUp(back, 0), 30_000, TIMES), 'of the row before the gap').to.equal(true);
    const settledAgain = renewed(
      back,
      { startedMs: 30_000 + SETTLE_MS, nowMs: 30_000 + SETTLE_MS },
      TIMES,
    );
    expect(isSettled(settledAgain, TIMES)).to.equal(true);
    expect(isFenced(caughtUp(settledAgain, 30_000), 34_000, TIMES)).to.equal(false);
  });

  it('a gap that nobody looked at counts: the process was frozen', () => {
    const frozen = settled(0, 5000);
    expect(isFenced(frozen, 25_000, TIMES)).to.equal(true);
    expect(renewed(frozen, { startedMs: 25_000, nowMs: 25_010 }, TIMES).hasCaughtUp).to.equal(
      false,
    );
  });

  it('an answer that took longer than the fence is the first of a new row', () => {
    const fence = renewed(settled(0, 5000), { startedMs: 6000, nowMs: 5000 + FENCE_MS }, TIMES);
    expect(fence.hasCaughtUp).to.equal(false);
  });

  it('comes at 0.8 of the duration, whatever that is', () => {
    for (const seconds of [2, 7, 15]) {
      const times = leaseTimes(seconds);
      const fence: Fence = { renewedMs: 0, rowBeganMs: 0, hasCaughtUp: true };
      expect(isFenced(fence, seconds * 800 - 1, times), `${seconds} s`).to.equal(false);
      expect(isFenced(fence, seconds * 800, times), `${seconds} s`).to.equal(true);
    }
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
          if (isFenced(run.fence, run.nowMs, TIMES)) continue;
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
    if (kind === 'look') this.fence = lapsed(this.fence, this.nowMs, TIMES);
    if (kind === 'claims' && isSettled(this.fence, TIMES)) {
      this.fence = caughtUp(this.fence, this.fence.rowBeganMs);
    }
    if (kind !== 'renew') return;
    const startedMs = this.nowMs;
    this.nowMs += took;
    if (this.nowMs - this.lastMs >= FENCE_MS) this.rowMs = startedMs;
    this.fence = renewed(this.fence, { startedMs: startedMs, nowMs: this.nowMs }, TIMES);
    this.lastMs = startedMs;
  }
}
