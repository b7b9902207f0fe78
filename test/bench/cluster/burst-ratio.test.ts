import { expect } from 'chai';
import { burstRun, burstSummary } from './burst-ratio.ts';

const creation = (firstMs: number, tookMs: number) => {
  return { firstMs, lastMs: firstMs + tookMs, perSecond: 1_000_000 / tookMs };
};

describe('a burst beside the creation alone', () => {
  const run = burstRun(1000, {
    alone: [
      { creation: creation(0, 4000), serverCpu: 5 },
      { creation: creation(50_000, 6000), serverCpu: 6 },
    ],
    creation: creation(10_000, 9000),
    lastRouteMs: 19_500,
    statusMs: 20_000,
    cpu: new Map([['API server', 10]]),
  });

  it('is the later of route and status over the mean of the creations on both sides', () => {
    expect(run).to.include({ routeMs: 9500, toldMs: 10_000, timesAlone: 2 });
  });

  it('counts the CPU of the API server that the creation alone does not take', () => {
    expect(run.serverMsOver).to.equal(4.5);
  });

  it('is met by the median of the runs, and by both bounds', () => {
    const other = (timesAlone: number, serverMsOver = 4.5) => ({
      ...run,
      timesAlone,
      serverMsOver,
    });
    expect(burstSummary([run, other(9), other(2.2)])).to.include({ timesAlone: 2.2, isMet: true });
    expect(burstSummary([run, other(9), other(2.3)]).isMet).to.equal(false);
    expect(burstSummary([other(2, 6.1)]).isMet).to.equal(false);
  });
});
