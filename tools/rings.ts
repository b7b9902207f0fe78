/**
 * Runs test rings and counts. A ring is a set of mocha files with one purpose; each runs in a process of its own and ends with
 *
 *   ring NAME: N passed, N failed, N skipped, T s
 *
 * and the whole run with the sum, `N passed, N failed`. With CI=true a skipped test is a failed one: a machine that is meant
 * to run everything must not go green on what it could not run. A ring that crashes, or that is not done within its limit, is
 * one failure more and a sentence that says so; one that hangs is ended together with the programs that it started.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import Mocha from 'mocha';

interface Ring {
  readonly name: string;
  readonly summary: string;
  readonly files: readonly string[];
  /** for one test that names no timeout of its own */
  readonly timeoutMs: number;
  /** wall clock for all of it: several times what it takes on two busy cores */
  readonly limitMinutes: number;
  /** `make test-long` has at least 100 runs per case in it, so once is enough, and it takes longer */
  readonly longLimitMinutes?: number;
}

interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const RINGS: readonly Ring[] = [
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
  },
  {
    name: 'package',
    summary: 'bgp-ts as npm packs it, installed into an empty project; dist/herald',
    files: ['test/package/**/*.test.ts'],
    timeoutMs: 180_000,
    limitMinutes: 10,
  },
  {
    name: 'wire',
    summary: 'a scripted neighbour on real sockets: every error of RFC 4271 §6 and RFC 7606',
    files: ['test/wire/**/*.test.ts'],
    timeoutMs: 60_000,
    limitMinutes: 15,
  },
  {
    name: 'simulation',
    summary:
      'three agents and a router on one clock of their own, thousands of faults, planted bugs',
    files: ['test/simulation/**/*.test.ts'],
    timeoutMs: 300_000,
    limitMinutes: 10,
  },
  {
    name: 'interop',
    summary: 'bird2, frr, gobgpd, openbgpd and exabgp in network namespaces',
    files: ['test/interop/**/*.test.ts'],
    timeoutMs: 120_000,
    limitMinutes: 40,
  },
  {
    name: 'standalone',
    summary:
      'the agent without a cluster: real routers, kernel routes, packets and clients in namespaces',
    files: ['test/standalone/**/*.test.ts'],
    timeoutMs: 120_000,
    limitMinutes: 40,
    longLimitMinutes: 300,
  },
  {
    name: 'cluster',
    summary: 'Herald in Kubernetes: a real kube-apiserver and etcd, real routers',
    files: ['test/cluster/**/*.test.ts'],
    timeoutMs: 120_000,
    limitMinutes: 40,
    longLimitMinutes: 300,
  },
  {
    name: 'demo',
    summary: 'make demo as anyone runs it, and its page in a browser',
    files: ['test/demo/**/*.test.ts'],
    timeoutMs: 180_000,
    limitMinutes: 15,
  },
];

const RESULT_MARK = 'ring-result ';
const NOTHING: Count = { passed: 0, failed: 0, skipped: 0 };

async function main(args: readonly string[]): Promise<number> {
  if (args[0] === '--one') return await runHere(args[1] ?? '');
  const wanted = args.length === 0 ? RINGS.map((ring) => ring.name) : args;
  const unknown = wanted.find((name) => RINGS.every((ring) => ring.name !== name));
  if (unknown !== undefined) {
    process.stderr.write(`no ring ${unknown}; there are: ${RINGS.map((r) => r.name).join(', ')}\n`);
    return 2;
  }
  const total = { ...NOTHING };
  const rings = RINGS.filter(({ name }) => wanted.includes(name));
  // Properties draw other cases each time, and what depends on time meets other moments.
  const rounds = isLong() ? LONG_ROUNDS : 1;
  const repeated = rings.filter(({ longLimitMinutes }) => longLimitMinutes === undefined);
  const order = Array.from({ length: rounds - 1 }, () => repeated).flat();
  for (const ring of [...rings, ...order]) {
    const count = await runInProcess(ring);
    total.passed += count.passed;
    total.failed += count.failed;
    total.skipped += count.skipped;
  }
  if (total.skipped > 0) {
    const verdict = isCi() ? 'counted as failed, since CI=true' : 'NOT RUN on this machine';
    process.stdout.write(`${total.skipped} skipped: ${verdict}\n`);
  }
  const failed = total.failed + (isCi() ? total.skipped : 0);
  process.stdout.write(`${total.passed} passed, ${failed} failed\n`);
  return failed === 0 && total.passed > 0 ? 0 : 1;
}

function isCi(): boolean {
  return process.env['CI'] === 'true';
}

const LONG_ROUNDS = 3;

/** `make test-long`: every ring several times over */
function isLong(): boolean {
  return process.env['HERALD_TEST_LONG'] === '1';
}

/** how long a ring that was told to end may take over it */
const GRACE_MS = 10_000;

/** one ring in a child process; what it printed is passed on, its count is its last line */
async function runInProcess(ring: Ring): Promise<Count> {
  const started = performance.now();
  process.stdout.write(`\nring ${ring.name}: ${ring.summary}\n`);
  const child = spawn(
    process.execPath,
    ['--conditions=bgp-ts-source', '--expose-gc', import.meta.filename, '--one', ring.name],
    // a process group of its own, so that one signal reaches what the tests started
    { stdio: ['ignore', 'pipe', 'inherit'], detached: true },
  );
  const said = passOn(child);
  const limitMinutes = (isLong() ? ring.longLimitMinutes : undefined) ?? ring.limitMinutes;
  const end = await finished(child, limitMinutes * 60_000);
  const trouble = troubleOf(said.count, end);
  if (trouble !== undefined) process.stdout.write(`ring ${ring.name}: FAILED, it ${trouble}\n`);
  const { passed, failed: counted, skipped } = said.count ?? NOTHING;
  const failed = counted + (trouble === undefined ? 0 : 1);
  const seconds = Math.round((performance.now() - started) / 1000);
  process.stdout.write(
    `ring ${ring.name}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${seconds} s\n`,
  );
  return { passed, failed, skipped };
}

/** What the ring prints, line by line; its count is kept. */
function passOn(child: ChildProcess): { readonly count: Count | undefined } {
  const said: { count: Count | undefined } = { count: undefined };
  let pending = '';
  child.stdout?.setEncoding('utf8');
  child.stdout?.on('data', (text: string) => {
    const lines = (pending + text).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith(RESULT_MARK)) said.count = readCount(line.slice(RESULT_MARK.length));
      else process.stdout.write(`${line}\n`);
    }
  });
  return said;
}

function readCount(text: string): Count {
  const [passed = 0, failed = 0, skipped = 0] = text.split(' ').map(Number);
  return { passed, failed, skipped };
}

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** it had to be ended because of the limit, in minutes */
  readonly lateAfter?: number;
}

/** Resolves when the process is gone. Who stops us stops it. */
function finished(child: ChildProcess, limitMs: number): Promise<End> {
  const timers: NodeJS.Timeout[] = [];
  let isLate = false;
  let stopSignal: NodeJS.Signals | undefined;
  const stop = (signal: NodeJS.Signals) => {
    stopSignal = signal;
    endGroup(child, signal);
    timers.push(setTimeout(() => endGroup(child, 'SIGKILL'), GRACE_MS));
  };
  const onLimit = () => {
    isLate = true;
    endGroup(child, 'SIGTERM');
    timers.push(setTimeout(() => endGroup(child, 'SIGKILL'), GRACE_MS));
  };
  timers.push(setTimeout(onLimit, limitMs));
  process.on('SIGINT', stop).on('SIGTERM', stop);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      for (const timer of timers) clearTimeout(timer);
      process.off('SIGINT', stop).off('SIGTERM', stop);
      // what a ring left behind that did not end by itself
      if (isLate) endGroup(child, 'SIGKILL');
      if (stopSignal !== undefined) process.kill(process.pid, stopSignal);
      resolve({ code, signal, ...(isLate ? { lateAfter: limitMs / 60_000 } : {}) });
    });
  });
}

/** What is wrong with a ring besides its tests. */
function troubleOf(count: Count | undefined, { code, signal, lateAfter }: End): string | undefined {
  if (lateAfter !== undefined) return `was not done within ${lateAfter} minutes`;
  const end = signal === null ? `ended with status ${code}` : `was ended by ${signal}`;
  if (count === undefined) return `${end} before it had counted its tests`;
  return count.failed === 0 && code !== 0 ? `${end} although no test failed` : undefined;
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // ESRCH: nobody is left, which is what was wanted
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

async function runHere(name: string): Promise<number> {
  const ring = RINGS.find((candidate) => candidate.name === name);
  if (ring === undefined) return 2;
  const files = globSync([...ring.files]).toSorted();
  const mocha = new Mocha({ timeout: ring.timeoutMs, forbidOnly: true, reporter: 'spec' });
  for (const file of files) mocha.addFile(file);
  await mocha.loadFilesAsync();
  const count = { ...NOTHING };
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve());
    runner.on('pass', () => {
      count.passed += 1;
    });
    runner.on('fail', () => {
      count.failed += 1;
    });
    runner.on('pending', () => {
      count.skipped += 1;
    });
  });
  // a ring that ran nothing proves nothing
  if (count.passed + count.failed + count.skipped === 0) count.failed = 1;
  // behind a line end of its own: a test may have printed half a line
  process.stdout.write(`\n${RESULT_MARK}${count.passed} ${count.failed} ${count.skipped}\n`);
  // a socket or timer that a test forgot must not keep the run alive, nor hide the count
  process.exit(count.failed === 0 ? 0 : 1);
}

process.exitCode = await main(process.argv.slice(2));
