/**
 * Herald's image for the nodes of the lab: the one of `make image`, from deploy/Dockerfile by a real Docker, as a file. It is kept in the cache under a
 * hash of what it is made of, so a lab that is brought up again waits for no Docker. The Docker is one of our own: in the user's, `herald:VERSION` would
 * change its meaning, and stay.
 */

import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { buildImage } from '../../tools/image/build.ts';
import { imageCache } from '../../tools/image/names.ts';
import { withDocker } from '../docker/docker.ts';
import { removeUnused, useArchive } from './kept-archives.ts';

const root = join(import.meta.dirname, '../..');
/** Small enough to be read each time. */
const SOURCES = ['dist/**', 'deploy/Dockerfile', 'src/cli/image-entry.mjs', 'tools/image/*.ts'];
/** As big as a hundred of the others: its size and date must do. */
const NODE = `node_modules/node-linux-${process.arch}/bin/node`;

/** As deploy/base names it. */
export function heraldImageName(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return `herald:${version}`;
}

/** Where the archive is, or will be. */
export function heraldImageFile(): string {
  if (!existsSync(join(root, 'dist/herald.mjs')))
    throw new Error('dist/herald.mjs is missing; run `make build` first.');
  return join(imageCache(), `lab-herald-${hashOfParts()}.tar`);
}

/** The path of the image's archive, built when it is not there. */
export async function heraldImage(say: (sentence: string) => void): Promise<string> {
  const file = heraldImageFile();
  if (useArchive(file)) return file;
  mkdirSync(imageCache(), { recursive: true });
  say('building the image of Herald by Docker');
  const image = heraldImageName();
  const temporary = `${file}.${process.pid}`;
  try {
    await withDocker({ own: true, say }, async (docker) => {
      await buildImage(docker, { image, say });
      await docker.run(['save', '--output', temporary, image]);
    });
    renameSync(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
  // of what dist/ was before
  removeUnused(imageCache(), 'lab-herald-*.tar*');
  return file;
}

function hashOfParts(): string {
  const hash = createHash('sha256');
  for (const name of globSync(SOURCES, { cwd: root }).sort()) {
    const path = join(root, name);
    if (statSync(path).isFile()) hash.update(`${name}\0`).update(readFileSync(path));
  }
  const { size, mtimeMs } = statSync(join(root, NODE));
  return hash.update(`${size} ${mtimeMs}`).digest('hex').slice(0, 16);
}
