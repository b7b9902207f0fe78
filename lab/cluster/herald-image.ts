/** Herald's image for the nodes of the lab, as an archive: the files of dist/, the pinned Node and the libraries that it names. */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ArchiveFile, imageArchive } from './archive.ts';
import { imageArchitecture } from './pod-program.ts';

const repository = join(import.meta.dirname, '../..');

/** As deploy/base names it. */
export function heraldImageName(): string {
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  return `herald:${version}`;
}

export function heraldImage(): Uint8Array {
  const dist = join(repository, 'dist');
  if (!existsSync(join(dist, 'herald.mjs')))
    throw new Error('dist/herald.mjs is missing; run `make build` first.');
  const node = join(repository, 'node_modules', `node-linux-${process.arch}`, 'bin/node');
  const files = new Map<string, ArchiveFile>();
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    const file = join(dist, name);
    if (statSync(file).isFile())
      files.set(`opt/herald/${name}`, { content: readFileSync(file), mode: 0o755 });
  }
  files.set('opt/herald/node', { content: readFileSync(node), mode: 0o755 });
  for (const library of librariesOf(node))
    files.set(library.slice(1), { content: readFileSync(library), mode: 0o755 });
  return imageArchive({
    tag: heraldImageName(),
    files,
    entrypoint: ['/opt/herald/node', '--max-semi-space-size=2', '/opt/herald/herald.mjs'],
    architecture: imageArchitecture(),
    user: '65532:65532',
  });
}

function librariesOf(program: string): readonly string[] {
  const said = execFileSync('ldd', [program], { encoding: 'utf8' });
  return [...said.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
}
