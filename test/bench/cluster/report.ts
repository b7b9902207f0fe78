/** The rows of the table: what was asked, what was measured, and whether that is enough. Pure. */

import { median } from '../median.ts';

export type Verdict = 'met' | 'missed' | 'beside';

export interface Row {
  readonly work: string;
  /** of MetalLB: measured earlier on the same kind of machine, not in this run */
  readonly anchor: string;
  readonly target: string;
  readonly measured: string;
  /** what 0.1 had in the same run */
  readonly old?: string;
  /** `beside`: a number without a bound */
  readonly verdict: Verdict;
  /** when it was measured; absent: with the report */
  readonly date?: string;
  /** the numbers behind it, for whoever wants to look closer */
  readonly samples?: Readonly<Record<string, number | readonly number[]>>;
}

export interface ClusterReport {
  readonly date: string;
  readonly machine: string;
  /** load average of the last minute, before and after: what else the machine did */
  readonly load: readonly [before: number, after: number];
  readonly balancer: string;
  readonly isQuick: boolean;
  readonly versions: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
}

/** The rows with what 0.1 had beside them; one that failed there says so. */
export function besideOld(rows: readonly Row[], olds: readonly Row[]): readonly Row[] {
  const [first] = olds;
  return rows.map((row) => {
    const old = olds.find(({ work }) => work === row.work) ?? first;
    return old === undefined ? row : { ...row, old: old.measured };
  });
}

/** What was measured now, among what is kept from before: some rows want a quiet machine for long, and are measured one at a time. */
export function merged(kept: ClusterReport, now: ClusterReport): ClusterReport {
  const works = new Set(kept.rows.map(({ work }) => work));
  const rows = kept.rows.map((row) => {
    const anew = now.rows.find(({ work }) => work === row.work);
    return anew ?? { ...row, date: row.date ?? kept.date };
  });
  return { ...now, rows: [...rows, ...now.rows.filter(({ work }) => !works.has(work))] };
}

export const NO_ANCHOR = '–';

/** The value below which so many of a hundred lie: the nearest rank. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)];
  if (value === undefined) throw new Error('a percentile of nothing');
  return value;
}

export const p50 = (values: readonly number[]): number => median(values);
export const p99 = (values: readonly number[]): number => percentile(values, 99);

export const verdictOf = (isMet: boolean): Verdict => (isMet ? 'met' : 'missed');
export const ms = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} ms`;
export const seconds = (valueMs: number): string => `${(valueMs / 1000).toFixed(2)} s`;
export const megabytes = (value: number): string => `${value.toFixed(0)} MB`;
export const count = (value: number): string => value.toLocaleString('en');

export function printed(report: ClusterReport): string {
  return `${headOf(report)}\n\n${markdown(report)}`;
}

function headOf({ date, machine, load, balancer, versions, isQuick }: ClusterReport): string {
  const parts = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const loads = load.map((each) => each.toFixed(1)).join(' → ');
  const quick = isQuick ? '\nquick: small sizes, not for quoting' : '';
  return `${date}, ${machine}, load ${loads}\n${balancer} · ${parts.join(' · ')}${quick}`;
}

/** The table as documentation has it. */
export function markdown({ rows, balancer }: ClusterReport): string {
  const hasOld = rows.some(({ old }) => old !== undefined);
  const lines = rows.map(({ work, anchor, target, measured, verdict, date, old = NO_ANCHOR }) => {
    const own = `${measured}${dateOf(date)}`;
    const cells = [work, anchor, ...(hasOld ? [old] : []), target, own];
    return `| ${cells.join(' | ')} | ${verdict === 'beside' ? '' : verdict} |`;
  });
  const names = ['work', 'MetalLB, anchor', ...(hasOld ? ['0.1, the same run'] : []), 'target'];
  const head = `| ${[...names, balancer].join(' | ')} | |\n${'|---'.repeat(names.length + 2)}|`;
  return `${head}\n${lines.join('\n')}\n`;
}

function dateOf(date: string | undefined): string {
  return date === undefined ? '' : ` (${date.slice(0, 16).replace('T', ' ')})`;
}

const BEGIN = '<!-- table: made by make bench-cluster BENCH=--save -->';
const END = '<!-- end of the table -->';

/** The page with its table replaced; throws where it has no place for one. */
export function withTable(page: string, report: ClusterReport): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error('the page has no place for the table');
  const head = headOf(report).split('\n').join('  \n');
  return `${page.slice(0, from)}${BEGIN}\n\n${head}\n\n${markdown(report)}\n${page.slice(to)}`;
}
