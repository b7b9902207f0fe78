/**
 * `make bench-agent`: speed, memory and turns of the agent without a cluster, row by row. This file only leads through it. Everything is on loopback,
 * as root in a network namespace of its own. Medians of the rounds, and the worst beside them; progress on stderr, the table on stdout.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../command-line.ts';
import {
  type BenchOptions,
  benchOptions,
  NAMESPACE_ROWS,
  ROW_NAMES,
  type RowName,
  usage,
} from './options.ts';
import { type AgentReport, isMissed, merged, printed, type Row } from './report.ts';
import { measureBound } from './rows/bound.ts';
import { measureClaims } from './rows/claims.ts';
import { measureMemory } from './rows/memory.ts';
import { measureReaders } from './rows/readers.ts';
import { measureRoute } from './rows/route.ts';
import { measureStart } from './rows/start.ts';
import { measureStatus } from './rows/status.ts';
import { measureStop } from './rows/stop.ts';
import { measureAlive, measureTurns } from './rows/turns.ts';
import type { Stage } from './stage.ts';

const MEASURES: Readonly<Record<RowName, (stage: Stage) => Promise<readonly Row[]>>> = {
  start: measureStart,
  route: measureRoute,
  stop: measureStop,
  claims: measureClaims,
  memory: measureMemory,
  turns: measureTurns,
  alive: measureAlive,
  bound: measureBound,
  status: measureStatus,
  readers: measureReaders,
};

const INSIDE = 'HERALD_BENCH_NAMESPACE';
const say = (line: string) => process.stderr.write(`bench-agent: ${line}\n`);

async function bench(options: BenchOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-bench-agent-'));
  const rows: Row[] = [];
  let hasFailed = false;
  try {
    for (const name of options.rows) {
      if (process.env[INSIDE] === undefined && NAMESPACE_ROWS.includes(name)) {
        say(`row ${name} is left out: it needs root`);
        continue;
      }
      say(`row ${name}`);
      try {
        rows.push(...(await MEASURES[name]({ folder, options, say })));
      } catch (error) {
        // the others have cost minutes each
        hasFailed = true;
        say(`row ${name} failed: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(printed(rows));
  if (options.isSaving) save({ date: new Date().toISOString(), rows }, options);
  return hasFailed || rows.some(isMissed) ? 1 : 0;
}

function save(report: AgentReport, { rows }: BenchOptions): void {
  const file = new URL('../../../docs/bench-agent.json', import.meta.url);
  const isWhole = rows.length === ROW_NAMES.length;
  const whole = isWhole ? report : merged(JSON.parse(readFileSync(file, 'utf8')), report);
  writeFileSync(file, `${JSON.stringify(whole, undefined, 2)}\n`);
}

/** The same again, in a network namespace that has loopback and nothing else. */
function inNamespace(): number {
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const script = 'ip link set lo up && exec "$@"';
  const { status } = spawnSync('unshare', ['--net', '--', 'sh', '-c', script, 'sh', ...again], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: '1' },
  });
  return status ?? 1;
}

async function main(): Promise<number> {
  try {
    const options = benchOptions(process.argv.slice(2));
    if (options === undefined) {
      process.stdout.write(usage);
      return 0;
    }
    const isRoot = process.getuid?.() === 0;
    if (isRoot && process.env[INSIDE] === undefined) return inNamespace();
    return await bench(options);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    say(error.message);
    return 2;
  }
}

process.exitCode = await main();
