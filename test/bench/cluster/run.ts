/**
 * `make bench-cluster`: Herald in Kubernetes, or another balancer in its place, on a real API server with BIRD, row by row. This file only leads
 * through it. Progress goes to stderr, the table to stdout.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { kubernetesVersion } from '../../../tools/kubernetes/version.ts';
import { oldRelease } from '../../cluster/support/old-release.ts';
import { UsageError } from '../command-line.ts';
import { type BenchOptions, benchOptions, type RowName, usage } from './options.ts';
import {
  besideOld,
  type ClusterReport,
  merged,
  NO_ANCHOR,
  printed,
  type Row,
  withTable,
} from './report.ts';
import { measureBurst } from './rows/burst.ts';
import { measureDrain } from './rows/drain.ts';
import { measureFailover } from './rows/failover.ts';
import { measureFiltered } from './rows/filtered.ts';
import { measureProxy } from './rows/proxy.ts';
import { measureQuarantine } from './rows/quarantine.ts';
import { measureScheduler } from './rows/scheduler.ts';
import { measureServices } from './rows/services.ts';
import { measureSilentNode } from './rows/silent-node.ts';
import { measureSingle } from './rows/single.ts';
import { measureWaiting } from './rows/waiting.ts';
import { onStage } from './stage.ts';

const root = join(import.meta.dirname, '../../..');
const say = (line: string): void => {
  process.stderr.write(`bench-cluster: ${line}\n`);
};

type Measure = (options: BenchOptions) => Promise<readonly Row[]>;

const MEASURES: Readonly<Record<RowName, Measure>> = {
  single: (options) => onStage(options, say, measureSingle),
  proxy: (options) => onStage(options, say, measureProxy),
  burst: (options) => onStage(options, say, measureBurst),
  waiting: (options) => onStage(options, say, measureWaiting),
  services: (options) => onStage(options, say, measureServices),
  quarantine: (options) => measureQuarantine(options, say),
  filtered: (options) => measureFiltered(options, say),
  failover: (options) => measureFailover(options, say),
  silent: (options) => measureSilentNode(options, say),
  drain: (options) => measureDrain(options, say),
  scheduler: async ({ sizes }) => measureScheduler(sizes),
};
/** a function of this tree, without a program */
const THIS_ONLY: readonly RowName[] = ['scheduler'];
/** these are about Herald's own parts */
const HERALD_ONLY: readonly RowName[] = [
  'proxy',
  'services',
  'quarantine',
  'filtered',
  'failover',
  'silent',
  'drain',
  'scheduler',
];

async function bench(options: BenchOptions): Promise<number> {
  const before = loadavg()[0] ?? 0;
  const rows: Row[] = [];
  for (const name of options.rows) {
    if (options.balancer !== undefined && HERALD_ONLY.includes(name)) continue;
    say(`row ${name}`);
    rows.push(...(await withOld(name, options)));
  }
  const report: ClusterReport = {
    date: new Date().toISOString(),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`,
    load: [before, loadavg()[0] ?? 0],
    balancer: options.balancer === undefined ? 'Herald' : 'other balancer',
    isQuick: options.isQuick,
    versions: { Kubernetes: kubernetesVersion, Node: process.version },
    rows,
  };
  save(report, options);
  process.stdout.write(printed(report));
  return rows.some(({ verdict }) => verdict === 'missed') ? 1 : 0;
}

/** first this release, then 0.1, where that is wanted: in the same minutes */
async function withOld(name: RowName, options: BenchOptions): Promise<readonly Row[]> {
  const rows = await measured(name, options);
  if (options.old === undefined || THIS_ONLY.includes(name)) return rows;
  const release = await oldRelease(options.old === 'build' ? '' : options.old);
  say(`row ${name}, 0.1`);
  return besideOld(rows, await measured(name, { ...options, release }));
}

/** A row that fails is told in its place: the others have cost minutes each. */
async function measured(name: RowName, options: BenchOptions): Promise<readonly Row[]> {
  try {
    const rows = await MEASURES[name](options);
    for (const row of rows) say(`${row.work}: ${row.measured} (${row.verdict})`);
    return rows;
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    say(`row ${name} failed: ${problem}`);
    const words = { work: `row ${name}`, anchor: NO_ANCHOR, target: '' };
    return [{ ...words, measured: `FAILED: ${problem}`, verdict: 'missed' }];
  }
}

const textOf = (report: ClusterReport): string => `${JSON.stringify(report, undefined, 1)}\n`;

function save(report: ClusterReport, { json, isSaving, rows }: BenchOptions): void {
  mkdirSync(dirname(json), { recursive: true });
  writeFileSync(json, textOf(report));
  if (!isSaving) return;
  const kept = join(root, 'docs/bench-cluster.json');
  const isWhole = rows.length === Object.keys(MEASURES).length;
  const whole = isWhole ? report : merged(JSON.parse(readFileSync(kept, 'utf8')), report);
  writeFileSync(kept, textOf(whole));
  const page = join(root, 'docs/bench-cluster.md');
  writeFileSync(page, withTable(readFileSync(page, 'utf8'), whole));
}

async function main(): Promise<number> {
  try {
    const options = benchOptions(process.argv.slice(2));
    if (options !== undefined) return await bench(options);
    process.stdout.write(usage);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`bench-cluster: ${error.message}\n`);
    return 2;
  }
}

// what was started ends with this process
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main();
