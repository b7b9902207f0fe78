/** The command line of the bench. */

import { parseFlags, UsageError } from './command-line.ts';

export const benchNames = ['transfer', 'communities', 'decode'] as const;
export type BenchName = (typeof benchNames)[number];

export type BenchOptions = {
  readonly only: readonly BenchName[];
  readonly senders: readonly string[];
  readonly rounds: number;
  readonly sizes: readonly number[];
  readonly communityRoutes: number;
  readonly decodeSeconds: number;
  readonly json: string;
  /** also write docs/bench.json and docs/bench.svg */
  readonly save: boolean;
};

export const usage = `usage: make bench-routers, or with options: node_modules/.bin/node --conditions=bgp-ts-source test/bench/run.ts [options]

Measures Herald beside BIRD, FRR, GoBGP and ExaBGP in network namespaces. Needs root, the routers (make setup), Go, and dist/herald
(make build). How each number is taken: docs/bench.md.

  --only NAME     one of ${benchNames.join(', ')}; may be given several times
  --sender NAME   only these senders, and the control: bird, bird-awake, frr, frr-tuned, gobgp, exabgp, herald; several times
  --runs N        rounds; every number is the median of them (default 5)
  --json FILE     where the numbers go (default dist/bench.json)
  --save          also write docs/bench.json and docs/bench.svg
  --quick         a look: 1 round, 1,000 and 10,000 routes, short decoding; not for quoting
  --help          this text
`;

const flags = {
  only: { type: 'string', multiple: true },
  sender: { type: 'string', multiple: true },
  runs: { type: 'string' },
  json: { type: 'string' },
  save: { type: 'boolean' },
  quick: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** Undefined: help was asked for. */
export function benchOptions(argv: readonly string[]): BenchOptions | undefined {
  const values = parseFlags(argv, flags);
  if (values.help === true) return undefined;
  const isQuick = values.quick === true;
  const rounds = Number(values.runs ?? (isQuick ? 1 : 5));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) {
    throw new UsageError(`--runs is a number from 1 to 100, not ${values.runs}`);
  }
  return {
    only: values.only === undefined ? benchNames : values.only.map(benchName),
    senders: values.sender ?? [],
    rounds,
    sizes: isQuick ? [1_000, 10_000] : [1_000, 10_000, 100_000],
    communityRoutes: isQuick ? 1_000 : 10_000,
    decodeSeconds: isQuick ? 1 : 3,
    json: values.json ?? 'dist/bench.json',
    save: values.save === true,
  };
}

function benchName(text: string): BenchName {
  const name = benchNames.find((known) => known === text);
  if (name === undefined) {
    throw new UsageError(`--only is one of ${benchNames.join(', ')}, not ${text}`);
  }
  return name;
}
