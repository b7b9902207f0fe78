/**
 * docs/seeds.md cannot rot: every row of the seeds stands there once, with tests that exist; only what was agreed on is for later, and what is refused or does
 * not apply says why.
 */

import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { BROKEN_ROWS } from '../../tools/break-rows/rows.ts';
import { run } from '../support/process.ts';
import { cellsOf, isQuoted, type Quote, testTitles } from '../support/quoted-tests.ts';

const ROOT = new URL('../../', import.meta.url);
const PAGE = new URL('docs/seeds.md', ROOT);

const row = (prefix: string, first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => `${prefix}${first + index}`);

const IDS = [
  ...row('A', 1, 20),
  ...row('B', 1, 10),
  ...row('C', 1, 37),
  ...row('C-E', 1, 13),
  ...row('D', 23, 29),
  ...row('H', 1, 40),
];
/** those with tests have only a half that is for later */
const LATER: Readonly<Record<string, string>> = {
  A18: 'L2',
  C24: 'L2',
  'C-E11': 'L2',
  H1: 'L2',
  H23: 'L2',
  C29: 'chart',
};
/** bugs of parts that Herald does not have: a balancer in user space, RAFT, rules of a packet filter */
const NOT_APPLICABLE = ['H27', 'H29', 'H30', 'H31', 'H34'];

interface Row {
  readonly id: string;
  readonly does: string;
  readonly test: string;
  readonly quotes: readonly Quote[];
}

const text = readFileSync(PAGE, 'utf8');
const rows: readonly Row[] = text
  .split('\n')
  .filter((line) => /^\| (?:[A-D]|H|C-E)\d+ \|/.test(line))
  .map((line) => {
    const [id = '', , does = '', test = ''] = cellsOf(line);
    const quotes = [...test.matchAll(/\]\(([^)]+)\) "([^"]+)"/g)].map(
      ([, link = '', title = '']) => ({ file: pathOf(link), title }),
    );
    return { id, does, test, quotes };
  });

function pathOf(link: string): string {
  return new URL(link, PAGE).pathname.slice(ROOT.pathname.length);
}

describe('docs/seeds.md', () => {
  it('has every row of the seeds, once', () => {
    expect(rows.map(({ id }) => id).toSorted()).to.deep.equal(IDS.toSorted());
    for (const { id, does } of rows) expect(does.length, id).to.be.above(5);
  });

  it('has a test for every row, or a reason that was agreed on', () => {
    for (const { id, does, test, quotes } of rows) {
      const reason = /^(later|refused|not applicable): (.+)$/.exec(test);
      expect(quotes.length > 0, `${id}: either tests or a reason`).to.equal(reason === null);
      const later = /later: (\S+)/.exec(`${does} ${test}`)?.[1];
      expect(later, `${id}: what is later`).to.equal(LATER[id]);
      const isNone = reason?.[1] === 'not applicable';
      expect(isNone, `${id}: what does not apply`).to.equal(NOT_APPLICABLE.includes(id));
      if (reason?.[1] === 'refused') expect(test.length, id).to.be.above(30);
    }
  });

  it('names files that are there', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => pathOf(link));
    expect(links.length).to.be.above(150);
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
    expect(BROKEN_ROWS.length).to.be.above(19);
    const unnamed = BROKEN_ROWS.filter(({ row: id, test, title: part }) => {
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
});
