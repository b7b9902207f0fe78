/**
 * What the fail-over tests measured, and the page that keeps it. The numbers depend on the machine and are not compared; that
 * every case has its row is.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { dirname, join } from 'node:path';
import type { Outage } from '../../../tools/probe/probe-log.ts';
import { type EdgeKind, edgeKinds } from './edge-router.ts';
import { type BootCaseId, bootCases, type CaseId, failoverCases } from './failover-cases.ts';

export type Run = Outage & {
  /** From the fault to the route gone from the router's kernel, where a route goes. */
  readonly routeGoneMs?: number;
};

export type Measurement = {
  readonly id: CaseId;
  readonly kind: EdgeKind;
  readonly runs: readonly Run[];
};

export type BootMeasurement = {
  readonly id: BootCaseId;
  readonly kind: EdgeKind;
  /** Empty where something never happens. */
  readonly times: readonly number[];
  readonly runs: number;
};

/** All that this process has measured; the last file of the ring writes it down. */
export const measured = {
  failover: [] as Measurement[],
  boot: [] as BootMeasurement[],
  notes: [] as string[],
};

export const isLong = (): boolean => process.env['HERALD_TEST_LONG'] === '1';

/** At least as many as the page promises. */
export const runCount = (usual = 3): number => (isLong() ? Math.max(100, usual) : usual);

export const failoverPage = join(import.meta.dirname, '../../../docs/failover.md');

/** The value at or below which this share of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

const milliseconds = (value: number): string =>
  value >= 1000 ? `${(value / 1000).toFixed(2)} s` : `${Math.round(value)} ms`;

function spread(values: readonly number[]): string {
  if (values.length === 0) return '–';
  return [
    milliseconds(percentile(values, 0.5)),
    ...(values.length >= 100 ? [milliseconds(percentile(values, 0.99))] : []),
    milliseconds(Math.max(...values)),
  ].join(' / ');
}

/** Keeps what was measured on the way up and prints it. */
export function recordBoot(measurement: BootMeasurement): void {
  measured.boot.push(measurement);
  const { id, kind, times, runs } = measurement;
  const label = `${id} (${kind})`.padEnd(24);
  process.stdout.write(`    ${label} ${runs} runs, p50 / max ${spread(times)}\n`);
}

/** The cells of one measurement: outage, route, gap, lost. */
function cells({ runs }: Measurement): string[] {
  const sum = (values: readonly number[]) => values.reduce((total, each) => total + each, 0);
  const gone = runs.flatMap((run) => (run.routeGoneMs === undefined ? [] : [run.routeGoneMs]));
  return [
    String(runs.length),
    spread(runs.map((run) => run.outageMs)),
    spread(gone),
    spread(runs.map((run) => run.longestGapMs)),
    `${sum(runs.map((run) => run.lost))} of ${sum(runs.map((run) => run.sent))}`,
    String(sum(runs.map((run) => run.resets))),
  ];
}

/** One line for the terminal. */
export function printMeasurement(measurement: Measurement): void {
  const [runs, outage, gone, gap, lost, resets] = cells(measurement);
  const label = `${measurement.id} (${measurement.kind})`.padEnd(24);
  const order = measurement.runs.length >= 100 ? 'p50 / p99 / max' : 'p50 / max';
  process.stdout.write(
    `    ${label} ${runs} runs, outage ${outage}, route gone ${gone}, nobody answered ${gap} (${order}), lost ${lost}, ${resets} resets\n`,
  );
}

export const rowTitle = (id: CaseId, kind: EdgeKind): string => {
  const title = failoverCases.find((each) => each.id === id)?.title ?? id;
  return `| ${title} | ${kind === 'bird' ? 'BIRD' : 'FRR'} |`;
};

export const bootRowTitle = (id: BootCaseId, kind: EdgeKind): string => {
  const title = bootCases.find((each) => each.id === id)?.title ?? id;
  return `| ${title} | ${kind === 'bird' ? 'BIRD' : 'FRR'} |`;
};

export function renderPage({ failover, boot, notes }: typeof measured, versions: string[]): string {
  const rows = failoverCases.flatMap(({ id, affected }) =>
    failover
      .filter((each) => each.id === id)
      .map((each) => `${rowTitle(each.id, each.kind)} ${cells(each).join(' | ')} | ${affected} |`),
  );
  const bootRows = bootCases.flatMap(({ id, what }) =>
    boot
      .filter((each) => each.id === id)
      .map((each) => {
        const title = bootRowTitle(id, each.kind);
        return `${title} ${each.runs} | ${spread(each.times)} | ${what} |`;
      }),
  );
  return [
    '# Fail-over of a control-plane address, measured',
    '',
    'Written by the standalone tests (`HERALD_SAVE_FAILOVER=1 make standalone`, as root; with `HERALD_TEST_LONG=1` at least 100 runs',
    'and p99). A client, a router and three masters in network namespaces; the router is a real BIRD or FRR that runs the output of',
    '`herald manifest router` and installs one kernel route over three ways; each master runs `herald agent --source files:…` and a stand-in API server. The client opens a new',
    'connection every 10 ms and gives it 0.95 s; in the planned move it sends a datagram every 1 ms.',
    '',
    `${versions.join(', ')}, Linux ${release()}, ${cpus().length} cores. Hold time 3 s, join check every 0.2 s, closed by 2 failures.`,
    '',
    '- *Outage*: from the first lost probe to the last, of any way. *Route gone*: from the fault until the kernel of the router no',
    '  longer uses that master. *Nobody answered*: the longest time without any answer. Each as p50 / max, or p50 / p99 / max.',
    '- *Lost*: probes without an answer, over all runs, fault and return together. *Resets*: connections that were open in the very',
    '  millisecond in which their way changed; a router keeps no state of them, so they end up at another master, which resets them.',
    '',
    '| case | router | runs | outage | route gone | nobody answered | lost | resets | who is affected |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
    '## From boot to service',
    '',
    '| case | router | runs | p50 / max | what |',
    '|---|---|---|---|---|',
    ...bootRows,
    '',
    '## What the numbers do not say',
    '',
    '- A silent death costs the hold time. 3 s is the least that BGP allows and is used here to keep the tests short; the default is 9.',
    '- BIRD as the router draws each hold time by lot, from three quarters of it up; FRR counts.',
    '- A router that restarts takes its kernel routes along. Two routers, each with sessions to all masters, are the answer to that.',
    '- FRR 8.4 with next-hop groups in the kernel (`zebra nexthop kernel enable`, its default) loses a way for good when its link',
    '  goes and comes back within three minutes; the tests run it without.',
    ...notes.map((note) => `- ${note}`),
    '',
  ].join('\n');
}

export function savePage(text: string): void {
  mkdirSync(dirname(failoverPage), { recursive: true });
  writeFileSync(failoverPage, text);
}

/** The rows that the page must have. */
export function wantedRows(): string[] {
  return [
    ...failoverCases.flatMap(({ id }) => edgeKinds.map((kind) => rowTitle(id, kind))),
    ...bootCases.flatMap(({ id, kinds }) => kinds.map((kind) => bootRowTitle(id, kind))),
  ];
}

/** Those of them that a page does not have. */
export function missingRows(page = readPage()): string[] {
  return wantedRows().filter((row) => !page.includes(row));
}

function readPage(): string {
  try {
    return readFileSync(failoverPage, 'utf8');
  } catch {
    return '';
  }
}
