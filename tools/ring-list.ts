/** The rings: sets of mocha files with one purpose each, in the order in which they run. */

export interface Ring {
  readonly name: string;
  readonly summary: string;
  readonly files: readonly string[];
  /** for one test that names no timeout of its own */
  readonly timeoutMs: number;
  /** wall clock for all of it: several times what it takes on two busy cores */
  readonly limitMinutes: number;
  /** wall clock for one of its files, after which the file is taken to hang; without it, the limit of the ring */
  readonly fileLimitMinutes?: number;
  /** what one file may take on two cores; a file over it is named, and what makes it slow belongs into `make test-long` */
  readonly budgetSeconds: number;
  /** files that are large for a reason, by the end of their path */
  readonly budgets?: Readonly<Record<string, number>>;
  /** `make test-long` has at least 100 runs per case in it, so once is enough, and it takes longer */
  readonly longLimitMinutes?: number;
  /** runs only where it is named: `make e2e` */
  readonly isOnDemand?: boolean;
  /** so many files at the same time, each in a process of its own; for files that wait more than they work */
  readonly atOnce?: number;
  /** with `atOnce`: these take longest, and begin first */
  readonly first?: readonly string[];
}

export const RINGS: readonly Ring[] = [
  {
    name: 'unit',
    summary: 'codec, machines, RIB, transports: vectors, matrices, properties',
    files: [
      'test/protocol/**/*.test.ts',
      'test/src/**/*.test.ts',
      'test/tools/**/*.test.ts',
      'test/bench/**/*.test.ts',
    ],
    timeoutMs: 30_000,
    limitMinutes: 15,
    fileLimitMinutes: 5,
    budgetSeconds: 30,
    // it plays whole runs, some of which hang
    budgets: { 'rings.test.ts': 60 },
  },
  {
    name: 'package',
    summary: 'bgp-ts as npm packs it, installed into an empty project; dist/herald',
    files: ['test/package/**/*.test.ts'],
    timeoutMs: 180_000,
    limitMinutes: 10,
    fileLimitMinutes: 5,
    budgetSeconds: 90,
  },
  {
    name: 'wire',
    summary: 'a scripted neighbour on real sockets: every error of RFC 4271 §6 and RFC 7606',
    files: ['test/wire/**/*.test.ts'],
    timeoutMs: 60_000,
    limitMinutes: 15,
    fileLimitMinutes: 5,
    budgetSeconds: 60,
  },
  {
    name: 'simulation',
    summary:
      'three agents and a router on one clock of their own, thousands of faults, planted bugs',
    files: ['test/simulation/**/*.test.ts'],
    timeoutMs: 300_000,
    limitMinutes: 10,
    budgetSeconds: 240,
  },
  {
    name: 'interop',
    summary: 'bird2, frr, gobgpd, openbgpd and exabgp in network namespaces',
    files: ['test/interop/**/*.test.ts'],
    timeoutMs: 120_000,
    limitMinutes: 40,
    budgetSeconds: 600,
  },
  {
    name: 'standalone',
    summary:
      'the agent without a cluster: real routers, kernel routes, packets and clients in namespaces',
    files: ['test/standalone/**/*.test.ts'],
    timeoutMs: 120_000,
    limitMinutes: 40,
    fileLimitMinutes: 10,
    budgetSeconds: 90,
    // every kind of death three times under two routers; four router daemons, each started with what is printed for it
    budgets: { 'failover.test.ts': 150, 'manifest-router.test.ts': 120 },
    longLimitMinutes: 300,
  },
  {
    name: 'cluster',
    summary: 'Herald in Kubernetes: a real kube-apiserver and etcd, real routers',
    files: ['test/cluster/**/*.test.ts'],
    timeoutMs: 120_000,
    limitMinutes: 40,
    fileLimitMinutes: 15,
    budgetSeconds: 120,
    // the product's own minutes: a password of a session that is up is read once in one, a move from another balancer has one for each node,
    // and a quiet IPNode is watched for as long
    budgets: {
      'agent-password.test.ts': 210,
      'take-over.test.ts': 150,
      'agent-report.test.ts': 150,
    },
    longLimitMinutes: 300,
    atOnce: 3,
    first: [
      'agent-password.test.ts',
      'seeds-failover.test.ts',
      'seeds-survivors.test.ts',
      'placement-silence.test.ts',
      'controller-election.test.ts',
      'agent-fence.test.ts',
      'agent-report.test.ts',
      'seeds-traffic.test.ts',
      'controller-quarantine.test.ts',
    ],
  },
  {
    name: 'lab',
    summary:
      'the lab: image, topology, a real three-node cluster behind real routers, short stories',
    files: ['test/lab/*.test.ts'],
    timeoutMs: 180_000,
    limitMinutes: 40,
    fileLimitMinutes: 15,
    budgetSeconds: 240,
  },
  {
    name: 'clab',
    summary: 'the same topology in a real containerlab',
    files: ['test/lab/containerlab/*.test.ts'],
    timeoutMs: 600_000,
    limitMinutes: 40,
    budgetSeconds: 1200,
    isOnDemand: true,
  },
  {
    name: 'demo',
    summary: 'make demo as anyone runs it, and its page in a browser',
    files: ['test/demo/**/*.test.ts'],
    timeoutMs: 180_000,
    limitMinutes: 15,
    fileLimitMinutes: 5,
    budgetSeconds: 120,
  },
];

export function budgetSecondsOf({ budgets = {}, budgetSeconds }: Ring, file: string): number {
  const [, own] = Object.entries(budgets).find(([name]) => file.endsWith(`/${name}`)) ?? [];
  return own ?? budgetSeconds;
}

export function limitMinutesOf({ limitMinutes, longLimitMinutes }: Ring): number {
  return (isLong() ? longLimitMinutes : undefined) ?? limitMinutes;
}

export function fileLimitMinutesOf(ring: Ring): number {
  return (isLong() ? ring.longLimitMinutes : ring.fileLimitMinutes) ?? limitMinutesOf(ring);
}

/** `make test-long`: every ring several times over */
export function isLong(): boolean {
  return process.env['HERALD_TEST_LONG'] === '1';
}
