/**
 * Runs test rings and counts. A ring is a set of mocha files with one purpose; each runs in a process of its own and ends with
 *
 *   ring NAME: N passed, N failed, N skipped, T s
 *
 * and the whole run with the sum, `N passed, N failed`. With CI=true a skipped test is a failed one: a machine that is meant
 * to run everything must not go green on what it could not run.
 */

import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import Mocha from 'mocha';

interface Ring {
  readonly name: string;
  readonly summary: string;
  readonly files: readonly string[];
  readonly exclude?: readonly string[];
  readonly timeoutMs: number;
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
  },
  {
    name: 'package',
    summary: 'bgp-ts as npm packs it, installed into an empty project; dist/herald',
    files: ['test/package/**/*.test.ts'],
    timeoutMs: 180_000,
  },
  {
    name: 'wire',
    summary: 'a scripted neighbour on real sockets: every error of RFC 4271 §6 and RFC 7606',
    files: ['test/wire/**/*.test.ts'],
    timeoutMs: 60_000,
  },
  {
    name: 'interop',
    summary: 'bird2, frr, gobgpd, openbgpd and exabgp in network namespaces',
    files: ['test/interop/**/*.test.ts'],
    timeoutMs: 120_000,
  },
];

const RESULT_MARK = 'ring-result ';

async function main(args: readonly string[]): Promise<number> {
  if (args[0] === '--one') return await runHere(args[1] ?? '');
  const wanted = args.length === 0 ? RINGS.map((ring) => ring.name) : args;
  const unknown = wanted.find((name) => RINGS.every((ring) => ring.name !== name));
  if (unknown !== undefined) {
    process.stderr.write(`no ring ${unknown}; there are: ${RINGS.map((r) => r.name).join(', ')}\n`);
    return 2;
  }
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const name of wanted) {
    const count = await runInProcess(name);
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

/** one ring in a child process; what it printed is passed on, its count is its last line */
async function runInProcess(name: string): Promise<Count> {
  const started = performance.now();
  process.stdout.write(`\nring ${name}: ${RINGS.find((ring) => ring.name === name)?.summary}\n`);
  const child = spawn(
    process.execPath,
    ['--conditions=bgp-ts-source', '--expose-gc', import.meta.filename, '--one', name],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let count: Count = { passed: 0, failed: 1, skipped: 0 };
  let pending = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    const lines = (pending + text).split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith(RESULT_MARK)) count = JSON.parse(line.slice(RESULT_MARK.length));
      else process.stdout.write(`${line}\n`);
    }
  });
  await new Promise<void>((resolve) => child.on('close', () => resolve()));
  const seconds = Math.round((performance.now() - started) / 1000);
  const { passed, failed, skipped } = count;
  process.stdout.write(
    `ring ${name}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${seconds} s\n`,
  );
  return count;
}

async function runHere(name: string): Promise<number> {
  const ring = RINGS.find((candidate) => candidate.name === name);
  if (ring === undefined) return 2;
  const files = globSync([...ring.files], { exclude: [...(ring.exclude ?? [])] }).toSorted();
  const mocha = new Mocha({ timeout: ring.timeoutMs, forbidOnly: true, reporter: 'spec' });
  for (const file of files) mocha.addFile(file);
  await mocha.loadFilesAsync();
  const count = { passed: 0, failed: 0, skipped: 0 };
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
  process.stdout.write(`${RESULT_MARK}${JSON.stringify(count)}\n`);
  // a socket or timer that a test forgot must not keep the run alive, nor hide the count
  process.exit(count.failed === 0 ? 0 : 1);
}

process.exitCode = await main(process.argv.slice(2));
