/**
 * The interop ring: every row of rows/all.ts against every router, one test per cell. All cells are started together (some at a
 * time), each test only waits for its own. The table is printed, and compared with docs/interop.md or, with
 * HERALD_SAVE_INTEROP=1, written there. HERALD_INTEROP_ONLY='frr: MD5' runs the cells whose name matches.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { Capture } from '../support/capture.ts';
import { createLab } from '../support/netns.ts';
import { run } from '../support/process.ts';
import { complaintFilter, inspectCapture } from './cell.ts';
import { mostNotApplicable, notApplicable } from './not-applicable.ts';
import { allRouters, skipWithoutLab } from './require-lab.ts';
import { createRouter } from './routers/create.ts';
import type { RouterKind } from './routers/router.ts';
import { allRows } from './rows/all.ts';
import { canaryRow } from './rows/attributes.ts';
import type { Row } from './rows/row.ts';
import { type Outcome, pooled, runCell } from './runner.ts';
import { formatReport, parseTable, type Report, type Result, tableLines } from './table.ts';

const document = join(import.meta.dirname, '../../docs/interop.md');
const atATime = 10;
const malformedRow = 'tshark finds nothing malformed in what we sent';
const { HERALD_INTEROP_ONLY: only = '', HERALD_SAVE_INTEROP: save = '' } = process.env;

type Task = { readonly router: RouterKind; readonly row: Row; readonly name: string };

const isWanted = (name: string) => only === '' || new RegExp(only).test(name);
const tasksOf = (rows: readonly Row[]): Task[] =>
  rows
    .flatMap((row) => allRouters.map((router) => ({ router, row, name: `${router}: ${row.name}` })))
    .filter((task) => isWanted(task.name));
const tasks = tasksOf(allRows);
const canaries = tasksOf([canaryRow]);
/** The longest first, so that nothing long is left for the end. */
const inOrder = [
  ...tasks.filter((task) => /restarts ten times|both dial|two hops/.test(task.name)),
  ...tasks.filter((task) => !/restarts ten times|both dial|two hops/.test(task.name)),
  ...canaries,
];

describe('interop', function () {
  this.timeout(900_000);
  let outcomes = new Map<Task, Promise<Outcome>>();
  const results: Result[] = [];

  const outcome = async (task: Task): Promise<Outcome> => {
    const found = await outcomes.get(task);
    if (found === undefined) throw new Error(`${task.name} was never started`);
    return found;
  };

  before(function () {
    skipWithoutLab(this);
    outcomes = pooled(inOrder, atATime, (task) => runCell(task.router, task.row));
  });

  for (const task of tasks) {
    it(task.name, async () => {
      const { verdict, seconds } = await outcome(task);
      results.push({ router: task.router, row: task.row.name, verdict });
      if (only !== '')
        process.stdout.write(
          `      ${seconds.toFixed(1)} s ${verdict.kind === 'fail' ? verdict.error.message : JSON.stringify(verdict)}\n`,
        );
      if (verdict.kind === 'fail') throw verdict.error;
    });
  }

  for (const router of allRouters) {
    it(`${router}: ${malformedRow}`, async () => {
      const column = tasks.filter((task) => task.router === router);
      const inspections = (await Promise.all(column.map(outcome))).map((each) => each.inspection);
      const messages = inspections.reduce((sum, each) => sum + each.messages, 0);
      const complaints = [...new Set(inspections.flatMap((each) => each.complaints))];
      const isClean = complaints.length === 0 && (messages > 0 || column.length === 0);
      const filter = `\`bgp && (${complaintFilter})\``;
      const verdict = isClean
        ? ({ kind: 'pass', evidence: [`tshark ${filter}: none of ${messages} messages`] } as const)
        : ({ kind: 'fail', error: new Error(complaints.join('; ')) } as const);
      results.push({ router, row: malformedRow, verdict });
      if (verdict.kind === 'fail') throw verdict.error;
    });
  }

  for (const task of canaries) {
    it(`${task.router}: the attributes row turns red when the MED is one higher`, async () => {
      const { verdict } = await outcome(task);
      const seen = verdict.kind === 'fail' ? verdict.error.message : verdict.kind;
      expect(seen).to.match(/^MED: expected 77, the router shows 78\n/);
    });
  }

  it('tshark would find something malformed', async function () {
    if (only !== '') return this.skip();
    const lab = createLab('malformed');
    try {
      const host = await lab.host('ours', { forward: false });
      const capture = new Capture(host, 'lo');
      const path = join(host.folder, 'update.hex');
      // An UPDATE whose ORIGIN attribute claims 9 octets and has 1.
      const update = `${'ff '.repeat(16)}00 1b 02 00 00 00 04 40 01 09 00`;
      writeFileSync(path, `0000 ${update}\n`);
      const from = ['-q', '-T', '40000,179', '-4', '10.0.0.1,10.0.0.2'];
      await run('text2pcap', [...from, path, capture.path]);
      const { complaints } = await inspectCapture(capture, 'ip.src == 10.0.0.1');
      expect(complaints).to.have.lengthOf(1);
    } finally {
      await lab.destroy();
    }
  });

  it('excuses at most ten cells, each with a sentence of the manual', () => {
    expect(notApplicable.length).to.be.at.most(mostNotApplicable);
    for (const { router, row, quote, source, absent = [] } of notApplicable) {
      expect(
        allRows.map((each) => each.name),
        `${router}: ${row}`,
      ).to.include(row);
      const bytes = readFileSync(source);
      const text = source.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString();
      // Manual pages mark words up with lines like `.Em word`.
      const plain = text.replaceAll(/^\.[A-Z][a-z] /gm, '').replaceAll(/\s+/g, ' ');
      expect(plain, source).to.include(quote);
      for (const word of absent) expect(plain.toLowerCase(), source).not.to.include(word);
    }
    const names = notApplicable.map(({ router, row }) => `${router}: ${row}`);
    expect(new Set(names).size).to.equal(names.length);
  });

  it('prints the table, and docs/interop.md says the same', async function () {
    if (only !== '') return this.skip();
    const versions = await Promise.all(allRouters.map((router) => createRouter(router).version()));
    const report: Report = {
      routers: allRouters,
      rows: [...allRows.map((row) => row.name), malformedRow],
      results,
      excuses: notApplicable,
      versions: [...versions, `Linux ${release().split('-')[0]}`],
    };
    process.stdout.write(`\n${tableLines(report).join('\n')}\n\n`);
    const written = formatReport(report);
    if (save !== '') writeFileSync(document, written);
    const asWritten = Object.fromEntries(parseTable(readFileSync(document, 'utf8')));
    expect(asWritten).to.deep.equal(Object.fromEntries(parseTable(written)));
  });
});
