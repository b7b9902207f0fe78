/**
 * `make break-rows`: takes behaviours of docs/seeds.md out, one line each, and wants to see the test fail that the page stands on. Everything happens in a
 * private copy of the checkout; a test that stays green, that is red without the break, or that runs nothing, ends it with status 1.
 *
 * It is no part of `make test`, which would only prove the same again, and one of `make test-long`.
 *
 * usage: break-rows.ts [unit | standalone | cluster | ROW]…   (without any: all; standalone and cluster want root)
 */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LAB_ROWS } from './break-rows/lab-rows.ts';
import { BROKEN_ROWS, type BrokenRow } from './break-rows/rows.ts';

const ROOT = join(import.meta.dirname, '..');
const COPIED = [
  'src',
  'protocol',
  'test',
  'tools',
  'deploy',
  'docs',
  'package.json',
  '.mocharc.json',
];
/** one test, with what it starts; tests with a cluster have up to five minutes for themselves */
const TEST_MS = 600_000;

interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** what the test program said where it could not run */
  readonly trouble?: string;
}

function copyOfCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'herald-break-rows-'));
  for (const each of COPIED) cpSync(join(ROOT, each), join(folder, each), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

function runTest(folder: string, { test, title }: BrokenRow): Outcome {
  const mocha = join(ROOT, 'node_modules/mocha/bin/mocha.js');
  const args = ['--conditions=bgp-ts-source', mocha, '--reporter', 'json', '--timeout', '120000'];
  const { stdout, stderr } = spawnSync(process.execPath, [...args, '--fgrep', title, test], {
    cwd: folder,
    encoding: 'utf8',
    timeout: TEST_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  try {
    const { stats } = JSON.parse(stdout.slice(stdout.indexOf('{\n')));
    return { passed: stats.passes, failed: stats.failures };
  } catch {
    return { passed: 0, failed: 0, trouble: stderr.slice(-500) };
  }
}

/** undefined: as it should be */
function problemOf(folder: string, row: BrokenRow): string | undefined {
  const path = join(folder, row.file);
  const whole = readFileSync(path, 'utf8');
  const times = whole.split(row.line).length - 1;
  if (times !== 1) return `its line stands ${times} times in ${row.file}`;
  const before = runTest(folder, row);
  if (before.failed > 0 || before.passed === 0) return `not green before: ${describe(before)}`;
  writeFileSync(
    path,
    whole.replace(row.line, () => row.broken),
  );
  const after = runTest(folder, row);
  writeFileSync(path, whole);
  return after.failed > 0 ? undefined : `stays green: ${describe(after)}`;
}

function describe({ passed, failed, trouble = '' }: Outcome): string {
  return `${passed} passed, ${failed} failed ${trouble}`.trim();
}

function main(wanted: readonly string[]): number {
  const rows = [...BROKEN_ROWS, ...LAB_ROWS].filter(
    ({ row, suite = 'unit' }) =>
      wanted.length === 0 || wanted.includes(row) || wanted.includes(suite),
  );
  const folder = copyOfCheckout();
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  let failures = 0;
  for (const row of rows) {
    const problem = problemOf(folder, row);
    if (problem !== undefined) failures += 1;
    const verdict = problem === undefined ? 'red   ' : 'WRONG ';
    const place = `${(row.suite ?? 'unit').padEnd(10)} ${row.file.padEnd(38)}`;
    process.stdout.write(`${verdict} ${row.row.padEnd(5)} ${place} ${row.title}\n`);
    if (problem !== undefined) process.stdout.write(`       ${problem}\n`);
  }
  process.stdout.write(`${rows.length} rows broken, ${failures} of them unnoticed\n`);
  return failures === 0 && rows.length > 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
