import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { removeUnused, useArchive } from '../../lab/cluster/kept-archives.ts';

const HOUR_MS = 60 * 60 * 1000;

describe('archives of images in the cache', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-archives-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const now = new Date();
  const write = (name: string, hoursAgo: number) => {
    const file = join(folder, name);
    writeFileSync(file, '');
    useArchive(file, new Date(now.getTime() - hoursAgo * HOUR_MS));
  };

  it('are removed when nobody has used them for a day, halves too, and others are not', () => {
    write('lab-herald-a.tar', 25);
    write('lab-herald-a.tar.123', 25);
    write('lab-herald-b.tar', 23);
    write('lab-herald-c.tar', 0);
    write('router-d.tar', 99);
    removeUnused(folder, 'lab-herald-*.tar*', now);
    expect(readdirSync(folder).sort()).to.deep.equal([
      'lab-herald-b.tar',
      'lab-herald-c.tar',
      'router-d.tar',
    ]);
  });

  it('are kept by being used', () => {
    write('lab-herald-a.tar', 99);
    const file = join(folder, 'lab-herald-a.tar');
    expect(useArchive(file, now)).to.equal(true);
    expect(statSync(file).mtimeMs).to.be.closeTo(now.getTime(), 1000);
    removeUnused(folder, 'lab-herald-*.tar*', now);
    expect(readdirSync(folder)).to.have.length(1);
  });

  it('are not there where there is none', () => {
    expect(useArchive(join(folder, 'lab-herald-a.tar'))).to.equal(false);
  });
});
