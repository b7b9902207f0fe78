/**
 * An earlier release as a tree with its own deploy/ and dist/herald: HERALD_TEST_OLD names one, else it is made once, from the history of this
 * repository, by the release's own Makefile, and kept in the cache.
 */

import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inCache } from '../../../tools/cache-folder.ts';
import { run } from '../../../tools/kubernetes/run.ts';

/** the last commit of 0.1 */
const COMMIT = 'dde2add';
const root = join(import.meta.dirname, '../../..');
const GIT_MS = 120_000;
const MAKE_MS = 900_000;

export interface OldRelease {
  readonly program: string;
  readonly crds: string;
  readonly base: string;
}

/** `named`: its tree, built; empty: made here */
export async function oldRelease(
  named = process.env['HERALD_TEST_OLD'] ?? '',
): Promise<OldRelease> {
  const tree = named === '' ? await built() : named;
  const program = join(tree, 'dist/herald');
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`make build\` in ${tree}`);
  return { program, crds: join(tree, 'deploy/crds'), base: join(tree, 'deploy/base') };
}

async function built(): Promise<string> {
  const tree = inCache('trees', COMMIT);
  if (existsSync(tree)) return tree;
  mkdirSync(dirname(tree), { recursive: true });
  const scratch = mkdtempSync(join(dirname(tree), '.build-'));
  try {
    const archive = join(scratch, 'tree.tar');
    const git = ['-C', root, 'archive', '--output', archive, COMMIT];
    await run('git', git, { timeoutMs: GIT_MS });
    await run('tar', ['-x', '-f', archive, '-C', scratch], { timeoutMs: GIT_MS });
    rmSync(archive);
    const env = { MAKEFLAGS: '', MAKELEVEL: '' };
    await run('make', ['build'], { cwd: scratch, env, timeoutMs: MAKE_MS });
    renameSync(scratch, tree);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return tree;
}
