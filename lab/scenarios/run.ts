/**
 * `make scenario NAME=…` and `make e2e`: plays stories on the lab's real cluster, one after the other, each in a namespace of its own. A lab that is
 * up already is used, and what a story changes in it is put back; stories that take Herald away, and put nothing back of what somebody has told it,
 * are played there only when they are named. Otherwise a lab is brought up and taken down, also when a signal comes. Progress goes to stderr, the
 * table to stdout.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { LAB_NAME } from '../cluster/lab.ts';
import { BrokenOff, untilBrokenOff } from './broken-off.ts';
import { openLab } from './open-lab.ts';
import { type NamedScenario, play, refused } from './play.ts';
import { tableOf, withTable } from './report.ts';
import type { Result, Scenario } from './scenario.ts';

const here = import.meta.dirname;
const page = join(here, '../../docs/e2e.md');

const HELP = `usage: run.ts [--short | SCENARIO…] [--name LAB] [--save] [--list]

Plays the scenarios of lab/scenarios on a real three-node cluster behind real routers. Wants root.

  SCENARIO  only these; without a name all of them
  --short   those that are part of make test
  --name    of the lab that is used, or brought up for this and taken down (${LAB_NAME})
  --save    keep the table in docs/e2e.md
  --list    their names and titles, nothing is played

Scenarios that take Herald away are not played on a lab that was up already, unless they are named.
Exit status: 0 all went as they should, 1 not, or one was not played, 2 usage; 130 and 143 after
SIGINT and SIGTERM, with everything taken away that was made.
`;

const say = (line: string): void => {
  if (line !== '') process.stderr.write(`${line}\n`);
};

function names(): readonly string[] {
  return readdirSync(here).filter((name) => existsSync(join(here, name, 'scenario.ts')));
}

async function load(name: string): Promise<NamedScenario> {
  const { scenario }: { scenario: Scenario } = await import(`./${name}/scenario.ts`);
  return { name, scenario };
}

interface Wish {
  readonly lab: string;
  readonly chosen: readonly NamedScenario[];
  /** those that were asked for by name */
  readonly named: readonly string[];
}

async function playAll(
  { lab: labName, chosen, named }: Wish,
  signal: AbortSignal,
): Promise<readonly Result[]> {
  const { lab, wasUp, close } = await openLab(labName, say, signal);
  const results: Result[] = [];
  try {
    for (const each of chosen) {
      signal.throwIfAborted();
      const { name, scenario } = each;
      const isRefused = scenario.isDestructive === true && wasUp && !named.includes(name);
      results.push(isRefused ? refused(labName, each) : await play(lab, each, { say, signal }));
    }
    signal.throwIfAborted();
  } finally {
    await close();
  }
  return results;
}

function tell(results: readonly Result[], isSaved: boolean): number {
  const table = tableOf(results);
  process.stdout.write(`${table}\n`);
  if (isSaved) {
    const about = `${new Date().toISOString().slice(0, 10)}, ${results.length} scenarios`;
    writeFileSync(page, withTable(readFileSync(page, 'utf8'), about, table));
  }
  const failed = results.filter(({ failure }) => failure !== undefined);
  const left = results.filter(({ refusal }) => refusal !== undefined);
  for (const { name, failure } of failed) say(`FAILED ${name}: ${failure}`);
  for (const { name, refusal } of left) say(`NOT PLAYED ${name}: ${refusal}.`);
  const passed = results.length - failed.length - left.length;
  const rest = left.length === 0 ? '' : `, ${left.length} not played`;
  process.stdout.write(`${passed} passed, ${failed.length} failed${rest}\n`);
  return failed.length + left.length === 0 ? 0 : 1;
}

async function main(signal: AbortSignal): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      name: { type: 'string', default: LAB_NAME },
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
  const all = await Promise.all(wanted.map(load));
  const chosen = all.filter(({ scenario }) => !values.short || scenario.isShort === true);
  if (values.list) {
    for (const { name, scenario } of chosen) process.stdout.write(`${name}: ${scenario.title}\n`);
    return 0;
  }
  return tell(await playAll({ lab: values.name, chosen, named: positionals }, signal), values.save);
}

const signal = untilBrokenOff();
try {
  process.exitCode = await main(signal);
} catch (error) {
  if (!(signal.reason instanceof BrokenOff)) throw error;
  // a program that was ended by the signal has an error of its own to tell
  say(`${signal.reason.message}; what was made is taken away`);
  if (error !== signal.reason) say(error instanceof Error ? error.message : String(error));
  // the story that was broken off may still wait for something
  process.exit(signal.reason.status);
}
