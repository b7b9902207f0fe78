/** The command line of the cluster's bench. Pure. */

import { parseArgs } from 'node:util';

export const ROW_NAMES = [
  'single',
  'proxy',
  'burst',
  'waiting',
  'filtered',
  'failover',
  'scheduler',
] as const;
export type RowName = (typeof ROW_NAMES)[number];

/** how another balancer is started, stopped and found; each for `sh -c` */
export interface BalancerCommands {
  readonly start: string;
  readonly stop: string;
  readonly pids: string;
}

export interface BenchSizes {
  /** Services created and deleted one at a time */
  readonly singles: number;
  /** of these, beside something that plays kube-proxy */
  readonly proxied: number;
  readonly burst: number;
  readonly clients: number;
  readonly waiting: number;
  /** Services with claims on other nodes, beside the ten of the node that is looked at */
  readonly elsewhere: number;
  /** how many simulated agents, one run each */
  readonly agents: readonly number[];
  readonly claims: number;
  readonly rack: number;
  readonly scheduled: number;
  /** how long memory is left alone before it is read */
  readonly restMs: number;
}

export interface BenchOptions {
  readonly rows: readonly RowName[];
  readonly sizes: BenchSizes;
  readonly isQuick: boolean;
  readonly isSaving: boolean;
  readonly json: string;
  readonly balancer?: BalancerCommands;
}

export const FULL: BenchSizes = {
  singles: 200,
  proxied: 30,
  burst: 1000,
  clients: 8,
  waiting: 5000,
  elsewhere: 9990,
  agents: [1000],
  claims: 10_000,
  rack: 40,
  scheduled: 100_000,
  restMs: 10_000,
};

/** does it work? Nothing of it is for quoting */
export const QUICK: BenchSizes = {
  singles: 5,
  proxied: 3,
  burst: 40,
  clients: 8,
  waiting: 60,
  elsewhere: 50,
  agents: [12],
  claims: 60,
  rack: 2,
  scheduled: 2000,
  restMs: 500,
};

export const usage = `usage: make bench-cluster, or with options: node_modules/.bin/node --conditions=bgp-ts-source test/bench/cluster/run.ts [options]

Measures Herald in Kubernetes: a real kube-apiserver and etcd, BIRD, one node. How each number is taken: docs/bench-cluster.md.

  --row=NAME       only this row: ${ROW_NAMES.join(', ')}; may be given several times
  --agents=N,…     simulated agents of the row failover, one run each (default 1000)
  --claims=N       exclusive claims of the row failover (default ${FULL.claims})
  --singles=N      Services of the row single (default ${FULL.singles})
  --json=FILE      where the numbers go (default dist/bench-cluster.json)
  --save           also write docs/bench-cluster.json and the table of docs/bench-cluster.md
  --quick          does it work? Small sizes; not for quoting
  --start=CMD --stop=CMD --pids=CMD
                   another balancer instead of Herald: CMD goes to \`sh -c\`; start returns when it runs, pids prints \`ROLE PID\` per line
  --help           this text

HERALD_PROGRAM names another herald than dist/herald.
`;

export class UsageError extends Error {}

const flags = {
  row: { type: 'string', multiple: true },
  agents: { type: 'string' },
  claims: { type: 'string' },
  singles: { type: 'string' },
  json: { type: 'string' },
  save: { type: 'boolean' },
  quick: { type: 'boolean' },
  start: { type: 'string' },
  stop: { type: 'string' },
  pids: { type: 'string' },
  help: { type: 'boolean' },
} as const;

/** Undefined: help was asked for. */
export function benchOptions(argv: readonly string[]): BenchOptions | undefined {
  const values = parse(argv);
  if (values.help === true) return undefined;
  const isQuick = values.quick === true;
  const balancer = commandsOf(values);
  const sizes = isQuick ? QUICK : FULL;
  const { agents, claims, singles } = values;
  return {
    rows: values.row === undefined ? ROW_NAMES : values.row.map(rowName),
    sizes: {
      ...sizes,
      ...(agents === undefined ? {} : { agents: agents.split(',').map(positive) }),
      ...(claims === undefined ? {} : { claims: positive(claims) }),
      ...(singles === undefined ? {} : { singles: positive(singles) }),
    },
    isQuick,
    isSaving: values.save === true,
    json: values.json ?? 'dist/bench-cluster.json',
    ...(balancer === undefined ? {} : { balancer }),
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: flags }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function commandsOf(values: {
  readonly start?: string;
  readonly stop?: string;
  readonly pids?: string;
}): BalancerCommands | undefined {
  const { start, stop, pids } = values;
  if (start === undefined && stop === undefined && pids === undefined) return undefined;
  if (start === undefined || stop === undefined || pids === undefined) {
    throw new UsageError('another balancer needs all three: --start, --stop and --pids');
  }
  return { start, stop, pids };
}

function rowName(text: string): RowName {
  const name = ROW_NAMES.find((known) => known === text);
  if (name === undefined)
    throw new UsageError(`--row is one of ${ROW_NAMES.join(', ')}, not ${text}`);
  return name;
}

function positive(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new UsageError(`${text} is no whole number above 0`);
  return number;
}
