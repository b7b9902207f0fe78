/** The command line of the agent's bench. Pure. */

import { parseFlags, positive, rowOf } from '../command-line.ts';

export const ROW_NAMES = [
  'start',
  'route',
  'stop',
  'claims',
  'memory',
  'turns',
  'alive',
  'bound',
  'status',
  'readers',
] as const;
export type RowName = (typeof ROW_NAMES)[number];

/** these change addresses or links of the machine, or tell the agent of such a change */
export const NAMESPACE_ROWS: readonly RowName[] = ['turns', 'alive', 'bound'];

export interface BenchOptions {
  readonly rows: readonly RowName[];
  readonly runs: number;
  readonly isSaving: boolean;
  /** the program of another release, for the rows that have a column of it */
  readonly old?: string;
  /** of the rows turns, alive and status; undefined: as the row has it */
  readonly claims?: number;
}

export const usage = `usage: make bench-agent, or with options: make bench-agent BENCH='--row=turns --runs=3'

Measures the agent without a cluster, dist/herald with documents in files, against BIRD on loopback. How each number is taken: docs/bench.md.

  --row=NAME   only this row: ${ROW_NAMES.join(', ')}; may be given several times
  --runs=N     rounds of each row (default 10; long rows take fewer)
  --claims=N   claims of the rows turns, alive and status in place of 10,000, 20,000 and 15,000
  --old=DIR    a built tree of another release: the same work on it, beside this one (turns, alive, bound, status, readers)
  --save       also write docs/bench-agent.json; rows that were not measured stay as they are
  --help       this text

As root it runs in a network namespace of its own, with nothing but loopback. Without root the rows ${NAMESPACE_ROWS.join(', ')} are left out.
HERALD_PROGRAM names another herald than dist/herald.
`;

const flags = {
  row: { type: 'string', multiple: true },
  runs: { type: 'string' },
  claims: { type: 'string' },
  old: { type: 'string' },
  save: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** Undefined: help was asked for. */
export function benchOptions(argv: readonly string[]): BenchOptions | undefined {
  const { row, runs, claims, old, save, help } = parseFlags(argv, flags);
  if (help === true) return undefined;
  return {
    rows: row === undefined ? ROW_NAMES : row.map((name) => rowOf(ROW_NAMES, name)),
    runs: runs === undefined ? 10 : positive(runs),
    isSaving: save === true,
    ...(old === undefined ? {} : { old: `${old}/dist/herald` }),
    ...(claims === undefined ? {} : { claims: positive(claims) }),
  };
}
