/**
 * Fast-forward: three real agents and two real routers through ten thousand faults in a minute. A failing seed is repeated with
 * HERALD_SIM_SEED=N (and HERALD_SIM_FAULTS=N for more of it).
 */

import { expect } from 'chai';
import { FAULTS } from './faults.ts';
import { type BugName, PLANTED_BUGS } from './planted-bugs.ts';
import { type RunReport, runSimulation } from './run.ts';

const RUNS = 5;
const FAULTS_PER_RUN = Number(process.env['HERALD_SIM_FAULTS'] ?? 2100);
const TIME_LIMIT_MS = 180_000;

function seeds(): readonly number[] {
  const given = process.env['HERALD_SIM_SEED'];
  if (given !== undefined) return [Number(given)];
  // fixed, so that a change is judged by what it changes; `make test-long` tries others, and says which
  const first = process.env['HERALD_TEST_LONG'] === '1' ? Date.now() % 1_000_000_000 : 4001;
  return Array.from({ length: RUNS }, (_, at) => first + at);
}

function summary({ seed, faults, virtualSeconds, steps, updates }: RunReport): string {
  return `seed ${seed}: ${faults} faults, ${virtualSeconds} s of virtual time, ${steps} steps, ${updates} routes announced or withdrawn`;
}

function describeFailure(report: RunReport): string {
  const found = report.violations.map(({ invariant, atMs, detail }) => {
    return `  ${atMs.toFixed(0)} ms: ${invariant}: ${detail}`;
  });
  const story = report.story.map((line) => `  ${line}`);
  return [
    `${summary(report)}; again with HERALD_SIM_SEED=${report.seed}`,
    ...found,
    'after',
    ...story,
  ].join('\n');
}

describe('simulation', function () {
  this.timeout(TIME_LIMIT_MS);
  const reports: RunReport[] = [];

  for (const seed of seeds()) {
    it(`keeps every invariant through ${FAULTS_PER_RUN} faults (seed ${seed})`, async () => {
      const report = await runSimulation({ seed, faults: FAULTS_PER_RUN });
      process.stdout.write(`    ${summary(report)}\n`);
      reports.push(report);
      expect(report.violations, describeFailure(report)).to.deep.equal([]);
      expect(report.faults).to.equal(FAULTS_PER_RUN);
    });
  }

  it('has seen every kind of fault, and routes that came and went', function () {
    if (process.env['HERALD_SIM_SEED'] !== undefined) this.skip();
    for (const { name } of FAULTS) {
      const times = reports.reduce((sum, { byFault }) => sum + (byFault.get(name) ?? 0), 0);
      expect(times, name).to.be.greaterThan(0);
    }
    const sum = (of: (report: RunReport) => number) =>
      reports.reduce((total, report) => total + of(report), 0);
    expect(sum(({ updates }) => updates)).to.be.greaterThan(1000);
    process.stdout.write(
      `    together: ${sum(({ faults }) => faults)} faults, ${sum((r) => r.virtualSeconds)} s of virtual time, ${sum(({ steps }) => steps)} steps\n`,
    );
  });

  it('runs the same way again from the same seed', async () => {
    const [a, b] = [
      await runSimulation({ seed: 99, faults: 60 }),
      await runSimulation({ seed: 99, faults: 60 }),
    ];
    expect(a).to.deep.equal(b);
  });

  const planted: readonly { readonly bug: BugName; readonly invariant: string }[] = [
    { bug: 'late-withdraw', invariant: 'withdrawn-in-time' },
    { bug: 'stale-retry', invariant: 'only-ready' },
    { bug: 'double-holder', invariant: 'one-holder' },
  ];
  for (const { bug, invariant } of planted) {
    for (const seed of [1, 2, 3]) {
      it(`finds the planted bug '${bug}' (seed ${seed})`, async () => {
        const report = await runSimulation({
          seed,
          faults: 500,
          bug: PLANTED_BUGS[bug],
          until: invariant,
        });
        const names = report.violations.map((violation) => violation.invariant);
        expect(names).to.include(invariant);
        process.stdout.write(`    ${bug}: found after ${report.faults} faults\n`);
      });
    }
  }
});
