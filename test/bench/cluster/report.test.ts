import { expect } from 'chai';
import { UsageError } from '../command-line.ts';
import { parsePids } from './balancer.ts';
import { benchOptions, FULL, QUICK, ROW_NAMES, usage } from './options.ts';
import {
  besideOld,
  type ClusterReport,
  markdown,
  merged,
  percentile,
  withTable,
} from './report.ts';

const REPORT: ClusterReport = {
  date: '2026-01-01T00:00:00Z',
  machine: '2 × something',
  load: [0, 1],
  balancer: 'Herald',
  isQuick: false,
  versions: { Kubernetes: '1.34.4' },
  rows: [
    { work: 'a', anchor: '31 ms', target: '≤ 20 ms', measured: '12 ms', verdict: 'met' },
    { work: 'b', anchor: '–', target: '', measured: '3 MB', verdict: 'beside' },
  ],
};

describe("the cluster's bench, its pure parts", () => {
  it('takes percentiles by the nearest rank', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(hundred, 99)).to.equal(99);
    expect(percentile(hundred, 100)).to.equal(100);
    expect(percentile([7], 99)).to.equal(7);
    expect(() => percentile([], 50)).to.throw('nothing');
  });

  it('prints a row with its anchor, target, value and verdict', () => {
    expect(markdown(REPORT).split('\n').slice(2)).to.deep.equal([
      '| a | 31 ms | ≤ 20 ms | 12 ms | met |',
      '| b | – |  | 3 MB |  |',
      '',
    ]);
  });

  it('has a column of 0.1 where that was measured in the same run, and only there', () => {
    const [first] = REPORT.rows;
    if (first === undefined) throw new Error('there is a row');
    const olds = [{ ...first, measured: '99 ms' }];
    const lines = markdown({ ...REPORT, rows: besideOld(REPORT.rows.slice(0, 1), olds) });
    expect(lines.split('\n')).to.deep.equal([
      '| work | MetalLB, anchor | 0.1, the same run | target | Herald | |',
      '|---|---|---|---|---|---|',
      '| a | 31 ms | 99 ms | ≤ 20 ms | 12 ms | met |',
      '',
    ]);
    const failed = { ...first, work: 'row x', measured: 'FAILED: no program' };
    expect(besideOld(REPORT.rows, [failed]).map(({ old }) => old)).to.deep.equal([
      'FAILED: no program',
      'FAILED: no program',
    ]);
    const [, second] = besideOld(REPORT.rows, []);
    expect(markdown({ ...REPORT, rows: [...olds, ...(second ? [second] : [])] })).not.to.contain(
      '0.1',
    );
  });

  it('replaces the table of a page and nothing else, as often as one likes', () => {
    const page = `before\n<!-- table: made by make bench-cluster BENCH=--save -->\nold\n<!-- end of the table -->\nafter\n`;
    const once = withTable(page, REPORT);
    expect(once).to.contain('| a | 31 ms |').and.not.contain('old');
    expect(once.startsWith('before\n') && once.endsWith('after\n')).to.equal(true);
    expect(withTable(once, REPORT)).to.equal(once);
    expect(() => withTable('nothing', REPORT)).to.throw('no place');
  });

  it('puts a row that was measured alone among the others, which keep their date', () => {
    const [first, second] = REPORT.rows;
    const anew = {
      work: 'b',
      anchor: '–',
      target: '',
      measured: '4 MB',
      verdict: 'beside',
    } as const;
    const now = { ...REPORT, date: '2026-02-02T00:00:00Z', rows: [anew] };
    const whole = merged(REPORT, now);
    expect(whole.rows).to.deep.equal([{ ...first, date: REPORT.date }, anew]);
    expect(markdown(whole)).to.contain('12 ms (2026-01-01 00:00) |').and.contain('| 4 MB |');
    expect(merged(whole, { ...now, rows: [] }).rows[0]).to.have.property('date', REPORT.date);
    expect(second?.measured).to.equal('3 MB');
  });

  it('reads its command line', () => {
    expect(benchOptions(['--help'])).to.equal(undefined);
    expect(benchOptions([])).to.deep.include({ sizes: FULL, isQuick: false, isSaving: false });
    expect(benchOptions(['--quick', '--row=burst'])).to.deep.include({
      sizes: QUICK,
      rows: ['burst'],
    });
    expect(benchOptions(['--agents=100,300'])?.sizes.agents).to.deep.equal([100, 300]);
    expect(benchOptions(['--bursts=3', '--deaths=2'])?.sizes).to.include({ bursts: 3, deaths: 2 });
    expect(benchOptions(['--old=build'])).to.include({ old: 'build' });
    expect(benchOptions([])).not.to.have.property('old');
    for (const name of ROW_NAMES) expect(usage, name).to.contain(name);
    const commands = { start: 'a', stop: 'b', pids: 'c' };
    const given = ['--start=a', '--stop=b', '--pids=c'];
    expect(benchOptions(given)?.balancer).to.deep.equal(commands);
    expect(() => benchOptions([...given, '--old=x'])).to.throw('another balancer');
    for (const bad of ['--row=x', '--agents=0', '--singles=y', '--start=a', '--nonsense']) {
      expect(() => benchOptions([bad]), bad).to.throw(UsageError);
    }
  });

  it('reads roles and pids', () => {
    expect(parsePids('controller 12\nagent 13\n')).to.deep.equal([
      { role: 'controller', pid: 12 },
      { role: 'agent', pid: 13 },
    ]);
    expect(parsePids('14\n')).to.deep.equal([{ role: 'balancer', pid: 14 }]);
    expect(() => parsePids('what is this')).to.throw('ROLE PID');
  });
});
