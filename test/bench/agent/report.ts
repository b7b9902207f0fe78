/** The rows of the table: what was measured, beside another release where that was asked for, and whether it is enough. Pure. */

import { median } from '../median.ts';

export interface Row {
  readonly name: string;
  readonly unit: 'ms' | 'MB' | 'lost' | 'late';
  /** of the median; the worst value counts where `isWorst` */
  readonly limit?: number;
  readonly isWorst?: boolean;
  readonly values: readonly number[];
  /** the same work on the other release */
  readonly old?: readonly number[];
  /** when it was measured; absent: with the report */
  readonly date?: string;
}

export interface AgentReport {
  readonly date: string;
  readonly rows: readonly Row[];
}

export function isMissed({ limit, isWorst = false, values }: Row): boolean {
  if (limit === undefined) return false;
  return (isWorst ? worst(values) : median(values)) > limit;
}

export function printed(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const { name, unit, limit, isWorst = false, values, old } = row;
    const told = (value: number) => number(value, unit);
    const before = old === undefined ? '' : told(isWorst ? worst(old) : median(old));
    const bound = limit === undefined ? '' : `≤ ${told(limit)}${isWorst ? ', worst' : ''}`;
    const verdict = limit === undefined ? '' : isMissed(row) ? 'MISSED' : 'met';
    return `| ${name} | ${before} | ${told(median(values))} | ${told(worst(values))} | ${values.length} | ${bound} | ${verdict} |`;
  });
  const head = '| work | other release | median | worst | runs | target | |';
  return `${head}\n|---|---|---|---|---|---|---|\n${lines.join('\n')}\n`;
}

/** What was measured now, among what is kept from before. */
export function merged(kept: AgentReport, now: AgentReport): AgentReport {
  const names = new Set(kept.rows.map(({ name }) => name));
  const rows = kept.rows.map((row) => {
    const anew = now.rows.find(({ name }) => name === row.name);
    return anew ?? { ...row, date: row.date ?? kept.date };
  });
  return { date: now.date, rows: [...rows, ...now.rows.filter(({ name }) => !names.has(name))] };
}

function worst(values: readonly number[]): number {
  return Math.max(...values);
}

function number(value: number, unit: Row['unit']): string {
  const digits = unit === 'ms' || unit === 'MB' ? (value < 100 ? 1 : 0) : 0;
  return `${value.toFixed(digits)} ${unit}`;
}
