/**
 * The program that runs the rings, on small planted files that fail once, fail twice, crash, hang, print half a line: what it prints at the end, and whether that is green.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import type { Ring } from '../../tools/ring-list.ts';
import { runRings } from '../../tools/run-rings.ts';

interface Run {
  readonly isGreen: boolean;
  readonly lines: readonly string[];
}

/** how often this file was loaded, this time included: each run is a process of its own */
const COUNT_RUNS = `
  import { appendFileSync, readFileSync } from 'node:fs';
  const book = import.meta.filename + '.runs';
  appendFileSync(book, 'x');
  const run = readFileSync(book, 'utf8').length;
`;
const file = (body: string): string =>
  `${COUNT_RUNS} describe('planted', () => { it('stands', () => {}); ${body} });`;
const PASSES = file('');
const FAILS_ONCE = file(`it('falls', () => { if (run === 1) throw new Error('run ' + run); });`);
const FAILS_TWICE = file(`it('falls', () => { throw new Error('run ' + run); });`);

describe('the rings', function () {
  // each case starts several processes
  this.timeout(120_000);
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-rings-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function runPlanted(
    files: Readonly<Record<string, string>>,
    more: Partial<Ring> = {},
    isSkippedFailed = false,
  ): Promise<Run> {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const ring: Ring = {
      name: 'planted',
      summary: 'files of this test',
      files: [relative(process.cwd(), join(folder, '*.mjs'))],
      timeoutMs: 20_000,
      limitMinutes: 1,
      budgetSeconds: 30,
      ...more,
    };
    const lines: string[] = [];
    const isGreen = await runRings([ring], { isSkippedFailed }, (text) => {
      lines.push(...text.replaceAll(`${relative(process.cwd(), folder)}/`, '').split('\n'));
    });
    return { isGreen, lines };
  }

  /** the lines under `flaky:`, which end with the last line of all */
  const flakyOf = ({ lines }: Run): readonly string[] =>
    lines.slice(lines.indexOf('flaky:') + 1, -1);
  const failedOf = ({ lines }: Run) => lines.filter((line) => line.startsWith('FAILED planted'));

  it('are green where all pass, and say so in the last line', async () => {
    const run = await runPlanted({ 'a.mjs': PASSES, 'b.mjs': PASSES });
    expect(run.lines.slice(-2)).to.deep.equal(['flaky: none', '2 passed, 0 failed']);
    expect(run.isGreen).to.equal(true);
  });

  for (const [how, more] of [
    ['all files in one process', {}],
    ['a process for each file', { atOnce: 2 }],
  ] as const) {
    it(`run a file again that failed, alone, and tell both results (${how})`, async () => {
      const run = await runPlanted({ 'a.mjs': PASSES, 'b.mjs': FAILS_ONCE, 'c.mjs': PASSES }, more);
      expect(run.lines.at(-1)).to.equal('4 passed, 0 failed');
      expect(run.lines).to.include('ring planted: once more, alone: b.mjs');
      const both =
        /b\.mjs: first run 1 passed, 1 failed, \d+ s; second run, alone, 2 passed, 0 failed, \d+ s$/;
      const flaky = flakyOf(run);
      expect(flaky).to.have.length(2);
      expect(flaky[0]).to.match(both);
      expect(flaky[1]).to.equal('    planted falls: run 1');
      expect(failedOf(run)).to.deep.equal([]);
      expect(run.isGreen).to.equal(true);
    });

    it(`are red where a file fails twice (${how})`, async () => {
      const run = await runPlanted(
        { 'a.mjs': PASSES, 'b.mjs': FAILS_TWICE, 'c.mjs': PASSES },
        more,
      );
      expect(run.lines.slice(-2)).to.deep.equal(['flaky: none', '3 passed, 1 failed']);
      expect(failedOf(run)).to.deep.equal([
        'FAILED planted: first run of b.mjs: planted falls: run 1',
        'FAILED planted: second run of b.mjs: planted falls: run 2',
      ]);
      expect(run.isGreen).to.equal(false);
    });
  }

  it('are green with three flaky files, and red with four', async () => {
    const three = { 'a.mjs': FAILS_ONCE, 'b.mjs': FAILS_ONCE, 'c.mjs': FAILS_ONCE };
    const green = await runPlanted(three);
    expect(green.lines.at(-1)).to.equal('6 passed, 0 failed');
    expect(green.isGreen).to.equal(true);
    rmSync(folder, { recursive: true });
    folder = mkdtempSync(join(tmpdir(), 'herald-rings-'));
    const red = await runPlanted({ ...three, 'd.mjs': FAILS_ONCE });
    expect(red.lines).to.include('FAILED 4 files passed only when they ran again, more than 3');
    expect(flakyOf(red)).to.have.length(8);
    expect(red.lines.at(-1)).to.equal('8 passed, 1 failed');
    expect(red.isGreen).to.equal(false);
  });

  it('blame a crash on the file in which it was, and run the files after it', async () => {
    const crash = file(`it('crashes', () => { if (run === 1) process.exit(7); });`);
    const run = await runPlanted({ 'a.mjs': PASSES, 'b.mjs': crash, 'c.mjs': PASSES });
    expect(run.lines).to.include(
      'b.mjs: FAILED, it ended with status 7 before its tests were done',
    );
    expect(run.lines.at(-1)).to.equal('4 passed, 0 failed');
    expect(flakyOf(run)[0]).to.include('planted: b.mjs: first run 0 passed, 1 failed');
    expect(run.isGreen).to.equal(true);
  });

  it('are red where a file crashes twice, in its tests or while it is loaded', async () => {
    const killed = `${PASSES} it('is killed', () => { process.kill(process.pid, 'SIGKILL'); });`;
    const unloadable = `throw new Error('no such thing');`;
    const run = await runPlanted({ 'a.mjs': killed, 'b.mjs': unloadable, 'c.mjs': PASSES });
    expect(failedOf(run)).to.deep.equal([
      'FAILED planted: first run of b.mjs: it could not be loaded: no such thing',
      'FAILED planted: second run of b.mjs: it could not be loaded: no such thing',
      'FAILED planted: first run of a.mjs: it was ended by SIGKILL before its tests were done',
      'FAILED planted: second run of a.mjs: it was ended by SIGKILL before its tests were done',
    ]);
    expect(run.lines.at(-1)).to.equal('1 passed, 2 failed');
    expect(run.isGreen).to.equal(false);
  });

  it('give up where every process dies, and name what was not run', async () => {
    const crash = file(`it('crashes', () => process.exit(7));`);
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => `${name}.mjs`);
    const run = await runPlanted(Object.fromEntries(names.map((name) => [name, crash])));
    const unrun = failedOf(run).filter((line) => line.includes('was not run'));
    expect(unrun).to.deep.equal([
      'FAILED planted: f.mjs was not run: 5 processes had died',
      'FAILED planted: g.mjs was not run: 5 processes had died',
    ]);
    expect(run.lines.at(-1)).to.equal('0 passed, 7 failed');
  });

  it('end a file that hangs after its limit, and run the files after it', async () => {
    const hangs = file(`it('hangs', () => { while (run === 1); });`);
    const files = { 'a.mjs': PASSES, 'b.mjs': hangs, 'c.mjs': PASSES };
    const run = await runPlanted(files, { fileLimitMinutes: 0.1 });
    expect(run.lines).to.include('b.mjs: FAILED, it was not done within 0.1 minutes');
    expect(run.lines.at(-1)).to.equal('4 passed, 0 failed');
    expect(flakyOf(run)[0]).to.include('planted: b.mjs: first run 0 passed, 1 failed');
  });

  it('are red where the time of all is used up, whatever the file in which it was does alone', async () => {
    const hangs = file(`it('hangs', () => { while (run === 1); });`);
    const files = { 'a.mjs': PASSES, 'b.mjs': hangs, 'c.mjs': PASSES };
    const run = await runPlanted(files, { limitMinutes: 0.2 });
    expect(failedOf(run)).to.deep.equal([
      'FAILED planted: c.mjs was not run: the suite had used its time',
    ]);
    expect(run.lines.at(-1)).to.equal('3 passed, 1 failed');
    expect(run.isGreen).to.equal(false);
  });

  it('count a hook that fails as a failure of its file', async () => {
    const hook = file(`before(() => { if (run === 1) throw new Error('not up'); });`);
    const run = await runPlanted({ 'a.mjs': PASSES, 'b.mjs': hook, 'c.mjs': PASSES });
    expect(run.lines.at(-1)).to.equal('3 passed, 0 failed');
    expect(flakyOf(run).join('\n')).to.match(/b\.mjs: first run 0 passed, 1 failed.*\n.*not up$/);
  });

  it('take no second run for a pass that does less than the first', async () => {
    const less = `${COUNT_RUNS} describe('planted', () => {
      it('stands', function () { if (run === 2) this.skip(); });
      it('stands too', () => {});
      it('falls', function () { if (run === 1) throw new Error('run 1'); this.skip(); });
    });`;
    const run = await runPlanted({ 'a.mjs': less });
    expect(failedOf(run).at(-1)).to.equal(
      'FAILED planted: second run of a.mjs: it passed 1 tests, fewer than in its first run',
    );
    expect(run.lines.at(-1)).to.equal('1 passed, 1 failed');
    expect(run.isGreen).to.equal(false);
  });

  it('are red where a file has no test, and where a skipped one may not be', async () => {
    const none = await runPlanted({ 'a.mjs': PASSES, 'b.mjs': `describe('nothing', () => {});` });
    expect(failedOf(none).at(-1)).to.include('second run of b.mjs: it has no test');
    expect(none.isGreen).to.equal(false);
    const skips = { 'b.mjs': file(`it.skip('not here', () => {});`) };
    expect((await runPlanted(skips)).lines.at(-1)).to.equal('2 passed, 0 failed');
    const strict = await runPlanted(skips, {}, true);
    expect(strict.lines).to.include('1 skipped: counted as failed, since CI=true');
    expect(strict.lines.at(-1)).to.equal('2 passed, 1 failed');
    expect(strict.isGreen).to.equal(false);
  });

  it('name the slowest files and those over their budget', async () => {
    const slow = file(`it('waits', (done) => { setTimeout(done, 1_600); });`);
    const budgets = { 'b.mjs': 300 };
    const files = { 'a.mjs': slow, 'b.mjs': slow, 'c.mjs': PASSES };
    const { lines } = await runPlanted(files, { budgetSeconds: 1, budgets });
    const slowest = lines.slice(lines.indexOf('slowest files:') + 1, lines.indexOf('over budget:'));
    expect(slowest.map((line) => line.trim().split('  ')[1])).to.have.members([
      'a.mjs',
      'b.mjs',
      'c.mjs',
    ]);
    expect(slowest[2]).to.include('c.mjs');
    const over = lines.filter((line) => line.includes('whose budget is'));
    expect(over).to.have.length(1);
    expect(over[0]).to.match(/^ +\d+ s {2}a\.mjs, whose budget is 1 s$/);
  });

  it('pass on what tests print, also where a line was half written', async () => {
    const half = (name: string) =>
      file(`it('prints', () => { process.stdout.write('half of ${name} '); });`);
    const { lines } = await runPlanted({ 'a.mjs': half('a'), 'b.mjs': half('b') });
    expect(lines.join('\n')).not.to.include('ring-mark');
    expect(lines.filter((line) => /^half of [ab] .*prints/.test(line))).to.have.length(2);
  });
});
