/** CONTRIBUTING.md has every room of the house, and what make can do for whoever works in it. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
/** what every Makefile has */
const PLAIN = ['help', 'setup', 'format', 'build', 'clean'];

const foldersOf = (path: string) =>
  readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${path}/${name}`);

describe('CONTRIBUTING.md', () => {
  it('has every folder of the program', () => {
    const [house = ''] = /```[\s\S]*?```/.exec(PAGE) ?? [];
    const named = new Set(
      [...house.matchAll(/^(\S+(?:, \S+)*) {2,}/gm)].flatMap(([, names = '']) => names.split(', ')),
    );
    const folders = [...foldersOf('src'), ...foldersOf('src/sources')];
    expect(folders.length).to.be.above(15);
    const missing = folders.filter((path) => path !== 'src/sources' && !named.has(path));
    expect(missing).to.deep.equal([]);
  });

  it('has every target of make', () => {
    const makefile = readFileSync(join(ROOT, 'Makefile'), 'utf8');
    const targets = [...makefile.matchAll(/^([a-z0-9-]+):.*## /gm)].map(([, name = '']) => name);
    expect(targets.length).to.be.above(15);
    const rows = [...PAGE.matchAll(/^\| (`make .*?) \|/gm)].map(([, cell = '']) => cell);
    const named = new Set(
      rows
        .flatMap((cell) => [...cell.matchAll(/`make ([a-z0-9 -]+)`/g)])
        .flatMap(([, words = '']) => words.split(' ')),
    );
    const missing = targets.filter((name) => !PLAIN.includes(name) && !named.has(name));
    expect(missing).to.deep.equal([]);
  });
});
