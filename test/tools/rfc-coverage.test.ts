/**
 * docs/rfc-coverage.md cannot rot: every file it names is there, every test title and vector name it quotes exists, every row
 * says what a row has to say, and the sums are right.
 */

import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { cellsOf, isQuoted, type Quote, stringOf, testTitles } from '../support/quoted-tests.ts';

const ROOT = new URL('../../', import.meta.url);
const PAGE = new URL('docs/rfc-coverage.md', ROOT);

/** The RFCs that the library speaks of itself as doing. */
const RFCS = [
  4271, 4760, 2545, 5492, 9072, 6793, 2918, 7313, 4724, 8538, 8654, 8950, 7911, 9234, 1997, 4360,
  8092, 5701, 7606, 6608, 4486, 9003, 7607, 6286, 9687, 2385, 5082, 8212, 8326, 6396,
];

interface Row {
  readonly rfc: string;
  readonly section: string;
  readonly requirement: string;
  readonly files: readonly string[];
  readonly tests: readonly Quote[];
  readonly state: string;
}

const text = readFileSync(PAGE, 'utf8');
const rows = readRows(text);

function pathOf(link: string): string {
  return new URL(link, PAGE).pathname.slice(ROOT.pathname.length);
}

function readRows(page: string): readonly Row[] {
  const found: Row[] = [];
  let rfc = '';
  for (const line of page.split('\n')) {
    rfc = /^## (RFC \d+)/.exec(line)?.[1] ?? rfc;
    if (rfc === '' || !line.startsWith('|') || /^\| § |^\|---/.test(line)) continue;
    const cells = cellsOf(line);
    expect(cells, line).to.have.lengthOf(5);
    const [section = '', requirement = '', files = '', tests = '', state = ''] = cells;
    found.push({
      rfc,
      section,
      requirement,
      files: [...files.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => pathOf(link)),
      tests: [...tests.matchAll(/\]\(([^)]+)\) "([^"]+)"/g)].map(([, link = '', title = '']) => ({
        file: pathOf(link),
        title,
      })),
      state,
    });
  }
  return found;
}

function vectorNames(file: string): readonly string[] {
  const vectors: unknown = JSON.parse(readFileSync(new URL(file, ROOT), 'utf8'));
  if (!Array.isArray(vectors)) throw new Error(`${file} holds no vectors`);
  return vectors.map((vector) => stringOf(vector, 'name'));
}

describe('docs/rfc-coverage.md', () => {
  it('has a table for every RFC, and no row that says nothing', () => {
    expect([...new Set(rows.map(({ rfc }) => rfc))]).to.have.members(RFCS.map((n) => `RFC ${n}`));
    for (const row of rows) {
      const where = `${row.rfc} §${row.section}: ${row.requirement}`;
      expect(row.section, where).not.to.equal('');
      expect(row.requirement, where).not.to.equal('');
      expect(row.state, where).to.match(/^done$|^(?:partly|not): .{10}/);
      if (row.state !== 'done') continue;
      expect(row.files, `files of ${where}`).not.to.deep.equal([]);
      expect(row.tests, `tests of ${where}`).not.to.deep.equal([]);
    }
  });

  it('names files that are there', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => pathOf(link));
    expect(links.length).to.be.above(400);
    expect(links.filter((path) => !existsSync(new URL(path, ROOT)))).to.deep.equal([]);
  });

  it('quotes tests and vectors that are there', async function () {
    this.timeout(30_000);
    const quotes = rows.flatMap(({ tests }) => tests);
    const files = new Set(quotes.map(({ file }) => file).filter((file) => file.endsWith('.ts')));
    const titles = await testTitles([...files]);
    const missing = quotes.filter(({ file, title }) =>
      file.endsWith('.json')
        ? !vectorNames(file).includes(title)
        : !titles.get(file)?.some((test) => isQuoted(title, test)),
    );
    expect(missing).to.deep.equal([]);
  });

  it('links every quote: no title stands in a test cell without its file', () => {
    const quoted = text.split('\n').flatMap((line) => {
      const cell = line.startsWith('|') ? (cellsOf(line)[3] ?? '') : '';
      return [...cell.matchAll(/"[^"]+"/g)];
    });
    expect(quoted.length).to.equal(rows.flatMap(({ tests }) => tests).length);
  });

  it('counts right', () => {
    const count = (rfc: string | undefined) => {
      const of = rows.filter((row) => rfc === undefined || row.rfc === rfc);
      const states = ['done', 'partly', 'not'];
      return states.map((state) => of.filter((row) => row.state.split(':')[0] === state).length);
    };
    const sums = text.split('\n').filter((line) => /^\| (?:\[RFC|all \|)/.test(line));
    expect(sums).to.have.lengthOf(RFCS.length + 1);
    for (const line of sums) {
      const [first = '', , ...numbers] = cellsOf(line);
      const rfc = /RFC \d+/.exec(first)?.[0];
      expect(numbers.map(Number), line).to.deep.equal(count(rfc));
    }
  });
});
