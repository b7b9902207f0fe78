/**
 * docs/seeds.md cannot rot: every row of the seeds stands there once, with tests that exist; only what was agreed on is for later, and what is refused or does
 * not apply says why.
 */

import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { LAB_ROWS } from '../../tools/break-rows/lab-rows.ts';
import { BROKEN_ROWS } from '../../tools/break-rows/rows.ts';
import { run } from '../support/process.ts';
import { cellsOf, isQuoted, type Quote, testTitles } from '../support/quoted-tests.ts';
import { LATER, NOT_APPLICABLE, SEED_ROWS } from './seed-rows.ts';

const ROOT = new URL('../../', import.meta.url);
const PAGE = new URL('docs/seeds.md', ROOT);

interface Row {
  readonly id: string;
  readonly about: string;
  readonly does: string;
  readonly test: string;
  readonly quotes: readonly Quote[];
}

const text = readFileSync(PAGE, 'utf8');
const rows: readonly Row[] = text
  .split('\n')
  .filter((line) => /^\| (?:[A-H]|J|C-E)\d+ \|/.test(line))
  .map((line) => {
    const [id = '', about = '', does = '', test = ''] = cellsOf(line);
    const quotes = [...test.matchAll(/\]\(([^)]+)\) "([^"]+)"/g)].map(
      ([, link = '', title = '']) => ({ file: pathOf(link), title }),
    );
    return { id, about, does, test, quotes };
  });

function pathOf(link: string): string {
  return new URL(link, PAGE).pathname.slice(ROOT.pathname.length);
}

describe('docs/seeds.md', () => {
  it('has every row of the seeds, once, with what it promises', () => {
    const ids = Object.keys(SEED_ROWS);
    expect(ids).to.have.lengthOf(206);
    expect(rows.map(({ id }) => id).toSorted()).to.deep.equal(ids.toSorted());
    for (const { id, about, does } of rows) {
      expect(about, id).to.equal(SEED_ROWS[id]);
      expect(does.length, id).to.be.above(5);
    }
  });

  it('answers every sentence that has no row: by a page, a row, a name of what is later, or a reason', () => {
    const from = text.indexOf('## Sentences of the seeds');
    const section = text.slice(from, text.indexOf('\n## ', from + 1));
    const answers = section
      .split('\n')
      .filter((line) => /^\| (?!seed |---)/.test(line))
      .map((line) => cellsOf(line)[2] ?? '');
    expect(answers.length).to.be.above(35);
    const names = new Set(Object.values(LATER));
    for (const answer of answers) {
      expect(answer.length, answer).to.be.above(10);
      const [, later] = /later: ([a-z0-9]+)/.exec(answer) ?? [];
      if (later !== undefined) expect(names.has(later), answer).to.equal(true);
      const named = [...answer.matchAll(/\b([A-J]\d+)\b/g)].map(([, id = '']) => id);
      expect(named.filter((id) => SEED_ROWS[id] === undefined)).to.deep.equal([]);
    }
  });

  it('has a test for every row, or a reason that was agreed on', () => {
    for (const { id, does, test, quotes } of rows) {
      const reason = /^(later|refused|not applicable): (.+)$/.exec(test);
      expect(quotes.length > 0, `${id}: either tests or a reason`).to.equal(reason === null);
      const later = /later: ([a-z0-9]+)/.exec(`${does} ${test}`)?.[1];
      expect(later, `${id}: what is later`).to.equal(LATER[id]);
      const isNone = reason?.[1] === 'not applicable';
      expect(isNone, `${id}: what does not apply`).to.equal(NOT_APPLICABLE.includes(id));
      if (reason?.[1] === 'refused') expect(test.length, id).to.be.above(30);
    }
  });

  it('names files that are there', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => pathOf(link));
    expect(links.length).to.be.above(300);
    expect(links.filter((path) => !existsSync(new URL(path, ROOT)))).to.deep.equal([]);
  });

  it('quotes tests that are there', async function () {
    this.timeout(120_000);
    const quotes = rows.flatMap((each) => each.quotes);
    const titles = await testTitles([...new Set(quotes.map(({ file }) => file))]);
    const missing = quotes.filter(
      ({ file, title }) => !titles.get(file)?.some((test) => isQuoted(title, test)),
    );
    expect(missing).to.deep.equal([]);
  });

  it('names in its row every test that make break-rows wants red', () => {
    const broken = [...BROKEN_ROWS, ...LAB_ROWS];
    expect(broken.length).to.be.above(30);
    const unnamed = broken.filter(({ row: id, test, title: part }) => {
      const quotes = rows.find((each) => each.id === id)?.quotes ?? [];
      return !quotes.some(({ file, title }) => file === test && title.includes(part));
    });
    expect(unnamed.map(({ row: id, title }) => `${id}: ${title}`)).to.deep.equal([]);
  });

  it('make help has the words that people know', async () => {
    const { stdout } = await run('make', ['-C', ROOT.pathname, 'help']);
    for (const word of ['setup', 'build', 'unit', 'test', 'clean', 'help', 'demo']) {
      expect(stdout).to.match(new RegExp(`^ +make ${word} `, 'm'));
    }
  });

  it('make has commands for every word of its help, and the programs are there', () => {
    const makefile = readFileSync(new URL('Makefile', ROOT), 'utf8');
    const targets = [...makefile.matchAll(/^([a-z0-9-]+): ?(.*?) ?## .*\n((?:\t.*\n?)*)/gm)];
    expect(targets.length).to.be.above(20);
    for (const [, word = '', needs = '', recipe = ''] of targets) {
      expect(needs + recipe, `make ${word} does nothing`).not.to.equal('');
      const programs = recipe.match(/(?<=[ @])(?:tools|lab|src|test)\/[\w./-]+/g) ?? [];
      const missing = programs.filter((path) => !existsSync(new URL(path, ROOT)));
      expect(missing, `make ${word}`).to.deep.equal([]);
    }
  });
});
