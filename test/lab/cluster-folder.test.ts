import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  clusterFolder,
  hasFolder,
  makeFolder,
  refuseForeignFolder,
} from '../../lab/cluster/folder.ts';

const NAME = `f${process.pid}`;

describe('the folder of a cluster', () => {
  const folder = clusterFolder(NAME);
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is made for nobody but us, and once', () => {
    expect(hasFolder(NAME)).to.equal(false);
    refuseForeignFolder(NAME);
    expect(makeFolder(NAME)).to.equal(folder);
    expect(statSync(folder).mode & 0o777).to.equal(0o700);
    expect(hasFolder(NAME)).to.equal(true);
    refuseForeignFolder(NAME);
    expect(() => makeFolder(NAME)).to.throw('is there already');
    // for a kubeconfig, say: it must be found when it is taken away
    chmodSync(folder, 0o755);
    expect(hasFolder(NAME)).to.equal(true);
  });

  it('is not ours where others may write, where it is a link, where it is a file', () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'herald-folder-'));
    const traps = [
      () => {
        mkdirSync(folder);
        chmodSync(folder, 0o777);
      },
      () => symlinkSync(elsewhere, folder),
      () => writeFileSync(folder, ''),
    ];
    try {
      for (const lay of traps) {
        lay();
        expect(hasFolder(NAME)).to.equal(false);
        expect(() => refuseForeignFolder(NAME)).to.throw('not made by this lab');
        expect(() => makeFolder(NAME)).to.throw('is there already');
        rmSync(folder, { recursive: true });
      }
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('is not ours where it is of another user', function () {
    // only root can give it away
    if (process.getuid?.() !== 0) return this.skip();
    makeFolder(NAME);
    chownSync(folder, 65_532, 65_532);
    expect(hasFolder(NAME)).to.equal(false);
  });
});
