/** The command line of the cluster's bench. Pure. */

import type { OldRelease } from '../../cluster/support/old-release.ts';
import { parseFlags, positive, rowOf, UsageError } from '../command-line.ts';

export const ROW_NAMES = [
  'single',
  'proxy',
  'burst',
  'waiting',
  'services',
  'quarantine',
  'filtered',
  'failover',
  'silent',
  'drain',
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
  /** how often, each between two creations with no balancer */
  readonly bursts: number;
  readonly clients: number;
  readonly waiting: number;
  /** Services and EndpointSlices that a stand-in lists */
  readonly listed: number;
  /** addresses that were given back and wait for a node that is off */
  readonly released: number;
  /** how often each simulated agent reports meanwhile, and for how long that is looked at */
  readonly reportMs: number;
  readonly lookMs: number;
  /** Services with claims on other nodes, beside the ten of the node that is looked at */
  readonly elsewhere: number;
  /** how many simulated agents, one run each */
  readonly agents: readonly number[];
  readonly claims: number;
  readonly rack: number;
  /** nodes that die in silence, for each of the four rows */
  readonly deaths: number;
  /** exclusive addresses of a node that is cordoned */
  readonly drained: number;
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
  /** rows are measured with 0.1 too: a built tree of it, or `build` */
  readonly old?: string;
  /** what is measured, where that is not this tree */
  readonly release?: OldRelease;
  readonly balancer?: BalancerCommands;
}

export const FULL: BenchSizes = {
  singles: 200,
  proxied: 30,
  burst: 1000,
  bursts: 5,
  clients: 8,
  waiting: 5000,
  listed: 100_000,
  released: 300,
  reportMs: 60_000,
  lookMs: 120_000,
  elsewhere: 9990,
  agents: [1000],
  claims: 10_000,
  rack: 40,
  deaths: 5,
  drained: 1500,
  scheduled: 100_000,
  restMs: 10_000,
};

/** does it work? Nothing of it is for quoting */
export const QUICK: BenchSizes = {
  singles: 5,
  proxied: 3,
  burst: 40,
  bursts: 2,
  clients: 8,
  waiting: 60,
  listed: 1200,
  released: 10,
  reportMs: 4000,
  lookMs: 8000,
  elsewhere: 50,
  agents: [12],
  claims: 60,
  rack: 2,
  deaths: 1,
  drained: 40,
  scheduled: 2000,
  restMs: 500,
};

export const usage = `usage: make bench-cluster, or with options: node_modules/.bin/node --conditions=bgp-ts-source test/bench/cluster/run.ts [options]

Measures Herald in Kubernetes: a real kube-apiserver and etcd, BIRD, one node. How each number is taken: docs/bench-cluster.md.

  --row=NAME       only this row: ${ROW_NAMES.join(', ')}; may be given several times
  --agents=N,…     simulated agents of the rows failover and quarantine, one run each (default 1000)
  --claims=N       exclusive claims of the row failover (default ${FULL.claims})
  --singles=N      Services of the row single (default ${FULL.singles})
  --bursts=N       runs of the row burst, of which the median counts (default ${FULL.bursts})
  --deaths=N       runs of each row of silent (default ${FULL.deaths})
  --old=DIR        each row with 0.1 too, right after it: DIR is a tree of 0.1 with a dist/herald; --old=build makes one, once, and keeps it in the cache.
                   The row scheduler is this tree's alone
  --json=FILE      where the numbers go (default dist/bench-cluster.json)
  --save           also write docs/bench-cluster.json and the table of docs/bench-cluster.md
  --quick          does it work? Small sizes; not for quoting
  --start=CMD --stop=CMD --pids=CMD
                   another balancer instead of Herald: CMD goes to \`sh -c\`; start returns when it runs, pids prints \`ROLE PID\` per line
  --help           this text

HERALD_PROGRAM names another herald than dist/herald; its CRDs and rights are still those of this tree.
`;

const flags = {
  row: { type: 'string', multiple: true },
  agents: { type: 'string' },
  claims: { type: 'string' },
  singles: { type: 'string' },
  bursts: { type: 'string' },
  deaths: { type: 'string' },
  old: { type: 'string' },
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
  const values = parseFlags(argv, flags);
  if (values.help === true) return undefined;
  const isQuick = values.quick === true;
  const balancer = commandsOf(values);
  const sizes = isQuick ? QUICK : FULL;
  const { agents, claims, singles, bursts, deaths, old } = values;
  if (old !== undefined && balancer !== undefined) {
    throw new UsageError('--old is about Herald, and --start about another balancer');
  }
  return {
    rows: values.row === undefined ? ROW_NAMES : values.row.map((name) => rowOf(ROW_NAMES, name)),
    sizes: {
      ...sizes,
      ...(agents === undefined ? {} : { agents: agents.split(',').map(positive) }),
      ...(claims === undefined ? {} : { claims: positive(claims) }),
      ...(singles === undefined ? {} : { singles: positive(singles) }),
      ...(bursts === undefined ? {} : { bursts: positive(bursts) }),
      ...(deaths === undefined ? {} : { deaths: positive(deaths) }),
    },
    isQuick,
    isSaving: values.save === true,
    json: values.json ?? 'dist/bench-cluster.json',
    ...(balancer === undefined ? {} : { balancer }),
    ...(old === undefined ? {} : { old }),
  };
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
