/**
 * The image without a tool that builds images: what deploy/Dockerfile says and copies, the folder that it is built from, its entry beside the launcher, and `make image`
 * with tools that only write down what they were asked. test/lab/image.test.ts builds it and runs it.
 */

import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { architectures, parseArchitecture } from '../../tools/image/architecture.ts';
import { parseElf } from '../../tools/image/elf.ts';
import { nativeParts, stage } from '../../tools/image/stage.ts';
import { parseJson } from '../interop/routers/json.ts';
import { untilValue } from '../support/poll.ts';
import { Running, run } from '../support/process.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCKERFILE = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const ARCHITECTURE = parseArchitecture(process.arch);
const LARGEST = 190e6;

describe('deploy/Dockerfile', () => {
  const lines = DOCKERFILE.split('\n').filter((line) => /^[A-Z]/.test(line));

  it('starts from nothing and only copies, in words that every builder knows', () => {
    expect(lines.map((line) => line.split(' ')[0])).to.deep.equal([
      'FROM',
      'COPY',
      'COPY',
      'ENV',
      'USER',
      'ENTRYPOINT',
    ]);
    expect(lines[0]).to.equal('FROM scratch');
    for (const line of lines.filter((each) => each.startsWith('COPY')))
      expect(line).to.match(/^COPY [a-z]+\/ \/[a-z/]*$/);
  });

  it('runs as the user that the controller runs as', () => {
    expect(lines).to.include('USER 65532:65532');
  });
});

describe('the folder that the image is built from', () => {
  let context = '';
  let bytes = 0;
  let files: readonly string[] = [];

  before(() => {
    context = mkdtempSync(join(tmpdir(), 'herald-image-context-'));
    bytes = stage(context, nativeParts(ARCHITECTURE));
    files = globSync('**', { cwd: context, withFileTypes: true })
      .filter((each) => !each.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name).slice(context.length + 1))
      .toSorted();
  });

  after(() => rmSync(context, { recursive: true, force: true }));

  it('has Node, the libraries that it names, the bundle, koffi, licences, and nothing else', () => {
    const { triplet, loader } = architectures[ARCHITECTURE];
    const libraries = ['atomic.so.1', 'c.so.6', 'dl.so.2', 'gcc_s.so.1', 'm.so.6', 'pthread.so.0'];
    expect(files.filter((each) => !each.startsWith('herald/'))).to.deep.equal(
      [
        'Dockerfile',
        'system/opt/herald/bin/node',
        `system${loader}`,
        ...[...libraries, 'stdc++.so.6'].map((each) => `system/lib/${triplet}/lib${each}`),
        'system/usr/share/doc/libc6/copyright',
        'system/usr/share/doc/libgcc-s1/copyright',
        'system/usr/share/doc/node/LICENSE',
      ].toSorted(),
    );
    const ours = files.filter((each) => each.startsWith('herald/'));
    expect(ours.filter((each) => !/^herald\/(chunks|node_modules)\//.test(each))).to.deep.equal([
      'herald/LICENSE',
      'herald/bin/herald',
      'herald/folder-worker.mjs',
      'herald/herald.mjs',
      'herald/image-entry.mjs',
      'herald/piece-worker.mjs',
    ]);
    const modules = ours.filter((each) => each.startsWith('herald/node_modules/'));
    expect(
      new Set(modules.map((each) => /node_modules\/(@koromix\/)?[^/]+/.exec(each)?.[0])),
    ).to.deep.equal(
      new Set([`node_modules/@koromix/koffi-linux-${ARCHITECTURE}`, 'node_modules/koffi']),
    );
  });

  it('is small, and is for one processor', () => {
    expect(bytes).to.be.above(0).and.at.most(LARGEST);
    const machines = files
      .filter((each) => !each.endsWith('bin/herald'))
      .map((each) => parseElf(readFileSync(join(context, each)))?.machine)
      .filter((each) => each !== undefined);
    expect(machines).to.have.lengthOf(10);
    expect(new Set(machines)).to.deep.equal(new Set([architectures[ARCHITECTURE].machine]));
  });

  it('can be read by everybody and written by its owner alone', () => {
    const modes = files
      .filter((each) => !each.endsWith('bin/herald') && each !== 'Dockerfile')
      .map((each) => [each, (statSync(join(context, each)).mode & 0o7777).toString(8)]);
    expect(modes.filter(([, mode]) => mode !== '644' && mode !== '755')).to.deep.equal([]);
  });
});

describe('the entry of the image, which has no shell', () => {
  let folder = '';

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-image-entry-'));
    for (const name of ['herald', 'image-entry.mjs'])
      copyFileSync(join(ROOT, 'src/cli', name), join(folder, name));
    chmodSync(join(folder, 'herald'), 0o755);
    mkdirSync(join(folder, 'node_modules/node-linux-test/bin'), { recursive: true });
    symlinkSync(process.execPath, join(folder, 'node_modules/node-linux-test/bin/node'));
    writeFileSync(
      join(folder, 'herald.mjs'),
      'process.stdout.write(JSON.stringify([process.execArgv, process.argv.slice(2)]));',
    );
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [line, source] of [
    ['controller', ''],
    ['controller --default-class', ''],
    ['agent --source kube', ''],
    ['agent --source=files,kube --log-level debug', ''],
    ['agent', 'kube'],
    ['agent --files /etc/herald', ''],
    ['agent', 'files'],
    ['router --asn 64512', ''],
    ['status', ''],
    ['', ''],
  ] as const) {
    it(`starts Node as the launcher does: herald ${line} (HERALD_SOURCE=${source})`, async () => {
      const args = line === '' ? [] : line.split(' ');
      const env = { HERALD_SOURCE: source, NODE_OPTIONS: '' };
      const first = readFileSync(join(folder, 'image-entry.mjs'), 'utf8').split('\n')[0] ?? '';
      // as the kernel reads the first line: a program, and at most one argument
      expect(first).to.match(/^#!\/opt\/herald\/bin\/node --\S+$/);
      const byKernel = [first.split(' ')[1] ?? '', join(folder, 'image-entry.mjs'), ...args];
      const launched = await run(join(folder, 'herald'), args, { env });
      const entered = await run(process.execPath, byKernel, { env });
      expect(parseJson(entered.stdout)).to.deep.equal(parseJson(launched.stdout));
    });
  }
});

describe('make image', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-image-tool-'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const tool = (name: string, script: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  const image = (env: Readonly<Record<string, string>> = {}) =>
    run(join(ROOT, 'tools/image.sh'), [], {
      // no dockerd in there: it is in /usr/sbin
      env: { IMAGE: '', IMAGE_TOOL: '', PATH: `${folder}:/usr/bin:/bin`, ...env },
      anyStatus: true,
      // some 190 MB are copied, twice
      timeoutMs: 150_000,
    });

  it('says in a sentence that there is no tool, or none that works, and fails', async () => {
    for (const name of ['docker', 'podman', 'buildah']) tool(name, 'exit 1');
    const { status, stderr } = await image();
    expect(status).to.equal(1);
    expect(stderr).to.include('docker is installed and does not work');
    expect(stderr).to.include('it takes docker, podman or buildah');
  });

  it('asks the first tool that works for the image that deploy/base names, and says its size', async () => {
    for (const name of ['docker', 'podman']) tool(name, 'exit 1');
    tool('buildah', `echo buildah "$@" >>${folder}/asked`);
    const { stderr, status } = await image();
    expect(status, stderr).to.equal(0);
    expect(readFileSync(join(folder, 'asked'), 'utf8')).to.match(
      new RegExp(`^buildah build --tag herald:${VERSION} /`, 'm'),
    );
    expect(stderr).to.match(/is built by buildah: 1\d\d MB/);
  });

  it('takes a name, a tool and a file', async () => {
    for (const name of ['docker', 'podman']) tool(name, `echo ${name} "$@" >>${folder}/asked`);
    const { status, stderr } = await image({
      IMAGE: 'registry.example/herald:1',
      IMAGE_TOOL: 'podman',
      IMAGE_FILE: join(folder, 'image.tar'),
    });
    expect(status, stderr).to.equal(0);
    const asked = readFileSync(join(folder, 'asked'), 'utf8');
    expect(asked).to.match(/^podman build --tag registry\.example\/herald:1 \//m);
    expect(asked).to.include(
      `podman save --output ${join(folder, 'image.tar')} registry.example/herald:1\n`,
    );
    expect(asked).not.to.include('docker');
  });

  it('leaves nothing behind when it is broken off', async () => {
    // `info` answers at once; `build` says that it has begun and goes on
    tool('docker', `[ "$1" = info ] || { : >${folder}/begun; exec sleep 60; }`);
    mkdirSync(join(folder, 'tmp'));
    const running = new Running([join(ROOT, 'tools/image.sh')], join(folder, 'log'), {
      env: { IMAGE_TOOL: 'docker', TMPDIR: join(folder, 'tmp'), PATH: `${folder}:/usr/bin:/bin` },
    });
    await untilValue(
      'the build has begun',
      () => existsSync(join(folder, 'begun')),
      (hasBegun) => hasBegun,
      { timeoutMs: 150_000 },
    );
    expect(readdirSync(join(folder, 'tmp'))).to.have.lengthOf(1);
    expect(await running.stop(60_000)).to.equal(143);
    expect(readdirSync(join(folder, 'tmp'))).to.deep.equal([]);
  });

  it('knows no other processor', async () => {
    tool('docker', 'exit 0');
    const { status, stderr } = await image({ IMAGE_ARCH: 'vax' });
    expect(status).to.equal(1);
    expect(stderr).to.include('there is no image for the processor vax');
  });
});
