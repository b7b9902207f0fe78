/** dist/ with Node in it, as docs/getting-started-standalone.md makes the archive. */

import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from '../../support/process.ts';
import { heraldProgram } from '../support/herald-program.ts';

const root = join(import.meta.dirname, '../../..');

export interface ProgramArchive {
  readonly file: string;
  readonly sha256: string;
}

export async function programArchive(folder: string): Promise<ProgramArchive> {
  if (basename(join(heraldProgram(), '..')) !== 'dist') {
    await run(process.execPath, ['--conditions=bgp-ts-source', join(root, 'tools/build.ts')], {
      timeoutMs: 60_000,
    });
  }
  const [node] = globSync('node_modules/node-linux-*/bin/node', { cwd: root });
  if (node === undefined) throw new Error('the pinned Node is missing; run `make setup`');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'herald.tar');
  await run('tar', ['-cf', file, '-C', join(root, 'dist'), '.', '-C', root, node]);
  return { file, sha256: createHash('sha256').update(readFileSync(file)).digest('hex') };
}
