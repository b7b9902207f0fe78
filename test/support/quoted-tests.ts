/**
 * Tests that a page of docs/ names, `[file](path) "title"`, and whether they are there. Titles come from mocha itself (`--dry-run` loads the files and runs nothing), so
 * that titles made in loops are known as they are.
 */

import { fileURLToPath } from 'node:url';
import { run } from './process.ts';

const ROOT = new URL('../../', import.meta.url);

export interface Quote {
  /** relative to the root */
  readonly file: string;
  readonly title: string;
}

/** `[title of all groups and its own, its own]` */
export type Titles = readonly [string, string];

/** Every test of these files. */
export async function testTitles(files: readonly string[]): Promise<Map<string, Titles[]>> {
  const mocha = fileURLToPath(new URL('node_modules/mocha/bin/mocha.js', ROOT));
  const paths = files.map((file) => fileURLToPath(new URL(file, ROOT)));
  const options = ['--no-config', '--dry-run', '--reporter', 'json', '--extension', 'ts'];
  const { stdout } = await run(
    process.execPath,
    ['--conditions=bgp-ts-source', mocha, ...options, ...paths],
    { timeoutMs: 120_000 },
  );
  const titles = new Map<string, Titles[]>();
  const report: unknown = JSON.parse(stdout);
  for (const test of listOf(report, 'tests')) {
    const file = stringOf(test, 'file').slice(ROOT.pathname.length);
    const known = titles.get(file) ?? [];
    known.push([stringOf(test, 'fullTitle'), stringOf(test, 'title')]);
    titles.set(file, known);
  }
  return titles;
}

/** A title, a group that has tests in it, or the end of a path of groups and a title. */
export function isQuoted(quote: string, [full, title]: Titles): boolean {
  return (
    title === quote ||
    full.startsWith(`${quote} `) ||
    full.includes(` ${quote} `) ||
    full.endsWith(` ${quote}`)
  );
}

export function cellsOf(line: string): readonly string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function listOf(value: unknown, key: string): readonly unknown[] {
  const list: unknown = typeof value === 'object' && value !== null && Reflect.get(value, key);
  if (!Array.isArray(list)) throw new Error(`no list ${key}`);
  return list;
}

export function stringOf(value: unknown, key: string): string {
  return String(typeof value === 'object' && value !== null && Reflect.get(value, key));
}
