/** The arithmetic behind the fail-over numbers, on logs written by hand: a wrong sum here would make every measurement lie. */

import { expect } from 'chai';
import { analyse, parseProbes } from '../../../tools/probe/probe-log.ts';
import { bootCases, failoverCases } from './failover-cases.ts';
import { bootRowTitle, missingRows, percentile, renderPage, rowTitle } from './measurements.ts';
import { parseRouteEvents } from './route-watch.ts';

describe('what the fail-over tests count', () => {
  const log = [
    '1000.000 1.000 m1',
    '1020.000 950.000 !timeout',
    '1010.000 1.500 m2',
    '1030.000 0.400 !reset',
    '1040.000 0.300 !ECONNREFUSED',
    '1050.000 1.000 m2',
    '1060.000 1.000 m1',
    '1070.0',
  ].join('\n');

  it('reads whole lines only, in whatever order they were decided', () => {
    expect(parseProbes(log)).to.have.length(7);
    expect(parseProbes(log)[1]).to.deep.equal({
      sentMs: 1020,
      latencyMs: 950,
      lost: 'timeout',
    });
  });

  it('counts an outage from the first lost probe to one interval after the last, resets apart', () => {
    expect(analyse(parseProbes(log), 1000, 1060, 10)).to.deep.equal({
      sent: 7,
      lost: 2,
      resets: 1,
      outageMs: 30,
      longestGapMs: 40,
      longestPauseMs: 10,
      answeredBy: { m1: 2, m2: 2 },
      reasons: { timeout: 1, ECONNREFUSED: 1 },
    });
  });

  it('sees only the span it is asked for, and a span without an answer as one gap', () => {
    expect(analyse(parseProbes(log), 1045, 1060, 10)).to.include({ sent: 2, lost: 0, outageMs: 0 });
    expect(analyse(parseProbes(log), 1015, 1045, 10)).to.include({ sent: 3, longestGapMs: 30 });
  });

  it('takes percentiles by rank', () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([0.5, 0.99, 1].map((share) => percentile(values, share))).to.deep.equal([50, 99, 100]);
    expect(percentile([7], 0.5)).to.equal(7);
  });

  it('reads the gateways of a route from the kernel’s events', () => {
    const events = parseRouteEvents(
      [
        '[2026-01-01T00:00:00.000100] 198.51.100.10 proto bird metric 32 \\\tnexthop via 10.40.2.2 dev eth2 weight 1 \\\tnexthop via 10.40.1.2 dev eth1 weight 1 ',
        '[2026-01-01T00:00:01.500000] 198.51.100.10 via 10.40.2.2 dev eth2 proto bird metric 32 ',
        '[2026-01-01T00:00:02.000000] Deleted 198.51.100.10 via 10.40.2.2 dev eth2 proto bird metric 32 ',
        '[2026-01-01T00:00:03',
      ].join('\n'),
    );
    expect(events.map((event) => event.gateways)).to.deep.equal([
      ['10.40.1.2', '10.40.2.2'],
      ['10.40.2.2'],
      [],
    ]);
    const [first, second] = events;
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).to.be.closeTo(1499.9, 5);
  });

  it('writes a row for every case that was measured, and misses those that were not', () => {
    const run = analyse(parseProbes(log), 1000, 1060, 10);
    const failover = failoverCases.map(({ id }) => ({ id, kind: 'frr' as const, runs: [run] }));
    const boot = bootCases.map(({ id }) => ({ id, kind: 'bird' as const, runs: 1, times: [7] }));
    const page = renderPage({ failover, boot, notes: [] }, []);
    expect(missingRows(page)).to.deep.equal([
      ...failoverCases.map(({ id }) => rowTitle(id, 'bird')),
      ...bootCases.slice(0, 3).map(({ id }) => bootRowTitle(id, 'frr')),
    ]);
  });
});
