/**
 * Runs test rings and counts. A ring is a set of mocha files with one purpose; each runs in a process of its own, or each of its files does, and ends with
 *
 *   ring NAME: N passed, N failed, N skipped, T s
 *
 * and the whole run with the slowest files, the names of what failed, the files that passed only alone (`flaky:`), and the sum, `N passed, N failed`. With CI=true a skipped
 * test is a failed one. A process that crashes, or a file that is not done within its limit, is one failure more of that file and a sentence that says so; one that hangs
 * is ended together with the programs that it started.
 *
 * usage: rings.ts [RING…]
 */

import { isLong, RINGS } from './ring-list.ts';
import { runRings } from './run-rings.ts';

const LONG_ROUNDS = 3;

async function main(args: readonly string[]): Promise<number> {
  const usual = RINGS.filter(({ isOnDemand }) => isOnDemand !== true);
  const wanted = args.length === 0 ? usual.map((ring) => ring.name) : args;
  const unknown = wanted.find((name) => RINGS.every((ring) => ring.name !== name));
  if (unknown !== undefined) {
    process.stderr.write(`no ring ${unknown}; there are: ${RINGS.map((r) => r.name).join(', ')}\n`);
    return 2;
  }
  const rings = RINGS.filter(({ name }) => wanted.includes(name));
  // Properties draw other cases each time, and what depends on time meets other moments.
  const rounds = isLong() ? LONG_ROUNDS : 1;
  const repeated = rings.filter(({ longLimitMinutes }) => longLimitMinutes === undefined);
  const order = [...rings, ...Array.from({ length: rounds - 1 }, () => repeated).flat()];
  const options = { isSkippedFailed: process.env['CI'] === 'true' };
  const isGreen = await runRings(order, options, (line) => process.stdout.write(`${line}\n`));
  return isGreen ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
