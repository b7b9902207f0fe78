import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { probe } from './probing.ts';

describe('probeFile', () => {
  const directory = mkdtempSync(join(tmpdir(), 'herald-file-'));
  after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'ready');

  it('follows the file: missing, there, gone again', async () => {
    const missing = { kind: 'fail', sentence: `${path} cannot be seen: no such file` } as const;
    expect(await probe({ kind: 'file', path })).to.include(missing);
    writeFileSync(path, '');
    expect(await probe({ kind: 'file', path })).to.include({
      kind: 'pass',
      sentence: `${path} exists`,
    });
    rmSync(path);
    expect(await probe({ kind: 'file', path })).to.include(missing);
  });

  it('is not fooled by a link to nowhere or a file in place of a directory', async () => {
    const link = join(directory, 'link');
    symlinkSync(join(directory, 'nowhere'), link);
    expect((await probe({ kind: 'file', path: link })).kind).to.equal('fail');
    writeFileSync(path, '');
    expect((await probe({ kind: 'file', path: join(path, 'below') })).kind).to.equal('fail');
  });

  it('answers all who ask about one path at the same time', async () => {
    writeFileSync(path, '');
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => probe({ kind: 'file', path })),
    );
    expect(answers.every(({ kind }) => kind === 'pass')).to.equal(true);
  });
});
