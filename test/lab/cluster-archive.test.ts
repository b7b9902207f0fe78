import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ArchiveFile, imageArchive, tar } from '../../lab/cluster/archive.ts';

const text = (value: string) => ({ content: Buffer.from(value) });

describe('an image without Docker', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-archive-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is an archive that tar can read: names, folders, modes and contents', () => {
    const files = new Map<string, ArchiveFile>([
      ['opt/herald/node', { content: Buffer.alloc(1000, 'x'), mode: 0o755 }],
      ['etc/empty', text('')],
      ['full', { content: Buffer.alloc(512, 'y') }],
    ]);
    const file = join(folder, 'layer.tar');
    writeFileSync(file, tar(files));
    const list = execFileSync('tar', ['-tvf', file], { encoding: 'utf8' });
    expect(list).to.match(/^drwxr-xr-x 0\/0 .* opt\/herald\/$/m);
    expect(list).to.match(/^-rwxr-xr-x 0\/0 +1000 .* opt\/herald\/node$/m);
    execFileSync('tar', ['-xf', file, '-C', folder]);
    expect(readFileSync(join(folder, 'opt/herald/node'), 'utf8')).to.equal('x'.repeat(1000));
    expect(readFileSync(join(folder, 'full'), 'utf8')).to.equal('y'.repeat(512));
    expect(readFileSync(join(folder, 'etc/empty'), 'utf8')).to.equal('');
  });

  it('names its layer by the hash of what is in it, and is the same for the same files', () => {
    const options = {
      tag: 'herald-lab/web:local',
      files: new Map([['web', text('program')]]),
      entrypoint: ['/web'],
      architecture: 'amd64',
    };
    const archive = imageArchive(options);
    expect(imageArchive(options)).to.deep.equal(archive);
    writeFileSync(join(folder, 'image.tar'), archive);
    execFileSync('tar', ['-xf', join(folder, 'image.tar'), '-C', folder]);
    const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
    const [manifest] = read('manifest.json');
    expect(manifest.RepoTags).to.deep.equal(['herald-lab/web:local']);
    const config = read(manifest.Config);
    const sum = execFileSync('sha256sum', [join(folder, manifest.Layers[0])], { encoding: 'utf8' });
    expect(config.rootfs.diff_ids).to.deep.equal([`sha256:${sum.slice(0, 64)}`]);
    expect(config.config.Entrypoint).to.deep.equal(['/web']);
  });

  it('refuses a name that would be cut', () => {
    const files = new Map<string, ArchiveFile>([[`a/${'b'.repeat(100)}`, text('')]]);
    expect(() => tar(files)).to.throw('100 bytes at most');
    expect(() => tar(new Map([['/etc/passwd', text('')]]))).to.throw('no / in front');
  });
});
