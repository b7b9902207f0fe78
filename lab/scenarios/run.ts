/**
 * `make scenario NAME=…` and `make e2e`: plays stories on the lab's real cluster, one after the other, each in a namespace of its own. A lab that is
 * up already is used and left as it was; otherwise one is brought up and taken down. Progress goes to stderr, the table to stdout.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openLab } from './open-lab.ts';
import { tableOf, withTable } from './report.ts';
import type { Measured, Result, Scenario } from './scenario.ts';
import { World } from './world.ts';

const here = import.meta.dirname;
const page = join(here, '../../docs/e2e.md');

const HELP = `usage: run.ts [--short | NAME…] [--save] [--list]

Plays the scenarios of lab/scenarios on a real three-node cluster behind real routers. Wants root.

  NAME     only these; without a name all of them
  --short  those that are part of make test
  --save   keep the table in docs/e2e.md
  --list   their names and titles, nothing is played

Exit status: 0 all went as they should, 1 not, 2 usage.
`;

const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

function names(): readonly string[] {
  return readdirSync(here).filter((name) => existsSync(join(here, name, 'scenario.ts')));
}

async function load(name: string): Promise<Scenario> {
  const { scenario }: { scenario: Scenario } = await import(`./${name}/scenario.ts`);
  return scenario;
}

async function play(world: World, name: string, scenario: Scenario): Promise<Result> {
  const startedMs = Date.now();
  say(`${name}: ${scenario.title}`);
  let measured: readonly Measured[] = [];
  const problems: string[] = [];
  try {
    await world.begin();
    measured = await scenario.run(world);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
    say(`${name}: FAILED: ${problems[0]}`);
    say(await world.evidence());
  }
  problems.push(...(await world.end()));
  const seconds = (Date.now() - startedMs) / 1000;
  say(
    `${name}: ${problems.length === 0 ? 'went as it should' : 'FAILED'}, ${seconds.toFixed(0)} s`,
  );
  const failure = problems.length === 0 ? {} : { failure: problems.join('; ') };
  return { name, title: scenario.title, seconds, measured, ...failure };
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const known = names();
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    say(`there is no scenario ${unknown.join(', ')}; there are: ${known.join(', ')}`);
    return 2;
  }
  const wanted = positionals.length > 0 ? positionals : known;
  const all = await Promise.all(wanted.map(async (name) => ({ name, scenario: await load(name) })));
  const chosen = all.filter(({ scenario }) => !values.short || scenario.isShort === true);
  if (values.list) {
    for (const { name, scenario } of chosen) process.stdout.write(`${name}: ${scenario.title}\n`);
    return 0;
  }
  const { lab, close } = await openLab(say);
  const results: Result[] = [];
  try {
    for (const { name, scenario } of chosen) {
      results.push(await play(new World(lab, name, say), name, scenario));
    }
  } finally {
    await close();
  }
  const table = tableOf(results);
  process.stdout.write(`${table}\n`);
  if (values.save) {
    const about = `${new Date().toISOString().slice(0, 10)}, ${results.length} scenarios`;
    writeFileSync(page, withTable(readFileSync(page, 'utf8'), about, table));
  }
  const failed = results.filter(({ failure }) => failure !== undefined);
  for (const { name, failure } of failed) say(`FAILED ${name}: ${failure}`);
  process.stdout.write(`${results.length - failed.length} passed, ${failed.length} failed\n`);
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = await main();
