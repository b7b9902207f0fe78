/**
 * The image for arm64, put together on whatever machine this is: the same files as for x64, each program and library for that processor, in an image that
 * says so. It is run only where qemu is.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { whyNoDocker, withDocker } from '../../lab/docker/docker.ts';
import { architectures } from '../../tools/image/architecture.ts';
import { buildImage } from '../../tools/image/build.ts';
import { parseElf } from '../../tools/image/elf.ts';
import { aptSources, foreignParts, isIntact, lockedPackage } from '../../tools/image/foreign.ts';
import { nativeParts, type Parts, stage } from '../../tools/image/stage.ts';
import { skipLoudly } from '../interop/require-lab.ts';
import { run } from '../support/process.ts';

const say = (sentence: string) => process.stderr.write(`image: ${sentence}\n`);
const QEMU = ['qemu-aarch64-static', 'qemu-aarch64'].find(
  (each) => spawnSync('sh', ['-c', 'command -v "$0"', each]).status === 0,
);
const LARGEST_BYTES = 190e6;

describe('the parts of another processor', () => {
  it('are those of the lockfile', () => {
    const lock = JSON.stringify({
      packages: { 'node_modules/a-arm64': { version: '1.0.0', integrity: 'sha512-x' } },
    });
    expect(lockedPackage(lock, 'a-arm64')).to.deep.equal({
      name: 'a-arm64',
      version: '1.0.0',
      integrity: 'sha512-x',
    });
    expect(() => lockedPackage(lock, 'b')).to.throw('package-lock.json has no b.');
  });

  it('are refused when they are others', () => {
    const integrity =
      'sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==';
    expect(isIntact(new Uint8Array(), integrity)).to.equal(true);
    expect(isIntact(new Uint8Array([0]), integrity)).to.equal(false);
  });

  it('come from where this machine has its packages, checked by the keys of Debian', () => {
    const sources = [{ uri: 'http://mirror.example/debian/', suite: 'bookworm' }];
    expect(aptSources(sources, true)).to.match(
      /^deb \[signed-by=\/usr\/share\/keyrings\/\S+\] http:\/\/mirror\.example\/debian\/ bookworm main\n$/,
    );
    expect(aptSources(sources, false)).to.equal(
      'deb http://mirror.example/debian/ bookworm main\n',
    );
  });
});

describe('the image for arm64', function () {
  this.timeout(10 * 60_000);
  let parts: Parts;
  let folder = '';

  before(async () => {
    parts = process.arch === 'arm64' ? nativeParts('arm64') : await foreignParts('arm64', say);
    folder = mkdtempSync(join(tmpdir(), 'herald-image-arm64-'));
    expect(stage(folder, parts)).to.be.above(0).and.at.most(LARGEST_BYTES);
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  it('has the same files as that for x64, under the names of arm64', function () {
    if (process.arch !== 'x64') this.skip();
    const other = mkdtempSync(join(tmpdir(), 'herald-image-x64-'));
    try {
      stage(other, nativeParts('x64'));
      const asArm = filesIn(other).map((each) =>
        each
          .replace(architectures.x64.loader, architectures.arm64.loader)
          .replaceAll('x86_64', 'aarch64')
          .replaceAll('x64', 'arm64'),
      );
      expect(filesIn(folder)).to.deep.equal(asArm.toSorted());
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it('has programs and libraries of that processor only', () => {
    const elves = filesIn(folder).flatMap((name) => {
      const elf = parseElf(readFileSync(join(folder, name)));
      return elf === undefined ? [] : [{ name, machine: elf.machine }];
    });
    expect(elves).to.have.lengthOf(10);
    expect(elves.filter(({ machine }) => machine !== architectures.arm64.machine)).to.deep.equal(
      [],
    );
  });

  it('says for which processor it is', async function () {
    const missing = whyNoDocker({ own: true });
    if (missing.length > 0) skipLoudly(this, `the image cannot be built: ${missing.join(' ')}`);
    const image = 'herald:arm64-under-test';
    const said = await withDocker({ own: true }, async (docker) => {
      await buildImage(docker, { image, architecture: 'arm64' });
      return docker.run(['image', 'inspect', '--format', '{{.Os}}/{{.Architecture}}', image]);
    });
    expect(said.trim()).to.equal('linux/arm64');
  });

  it(
    QEMU === undefined ? 'was NOT RUN: there is no qemu here' : 'says its version, by qemu',
    async () => {
      if (QEMU === undefined) {
        say(
          'arm64: put together and looked at, NOT RUN: there is no qemu (Debian: qemu-user-static)',
        );
        return;
      }
      const root = join(folder, 'root');
      cpSync(join(folder, 'system'), root, { recursive: true });
      cpSync(join(folder, 'herald'), join(root, 'opt/herald'), { recursive: true });
      const node = [QEMU, '-L', root, join(root, 'opt/herald/bin/node')];
      const program = join(root, 'opt/herald/herald.mjs');
      const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
      const { stdout } = await run('nice', [...node, program, '--version'], { timeoutMs: 300_000 });
      expect(stdout).to.equal(`herald ${version}\n`);
      const koffi = `import('${join(root, 'opt/herald/node_modules/koffi/index.js')}').then(({ default: koffi }) => {
      const getpid = koffi.load(null).func('int getpid()');
      process.stdout.write(process.arch + ' ' + (getpid() === process.pid));
    })`;
      const native = await run('nice', [...node, '--eval', koffi], { timeoutMs: 300_000 });
      expect(native.stdout).to.equal('arm64 true');
    },
  );
});

function filesIn(folder: string): readonly string[] {
  return globSync('**', { cwd: folder, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .toSorted();
}
