/**
 * An earlier release as its users have it: the image that `make image` made of it, and its deploy/ folder. Both are made once, from the history of this
 * repository, by the release's own Makefile, and kept in the cache.
 */

import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inCache } from '../../tools/cache-folder.ts';
import { run } from '../../tools/kubernetes/run.ts';
import { withDocker } from '../docker/docker.ts';

export interface Release {
  /** as `ctr images import` reads it */
  readonly imageFile: string;
  readonly deployFolder: string;
}

const root = join(import.meta.dirname, '../..');
const GIT_MS = 120_000;
/** Packages are fetched, and everything is built. */
const MAKE_MS = 1_800_000;

export async function release(version: string, say: (line: string) => void): Promise<Release> {
  const commit = await commitOf(version);
  const folder = inCache('releases', `${version}-${commit.slice(0, 12)}`);
  const found = { imageFile: join(folder, 'image.tar'), deployFolder: join(folder, 'tree/deploy') };
  if (existsSync(folder)) return found;
  say(`building the image of ${version} (${commit.slice(0, 12)}), once`);
  mkdirSync(dirname(folder), { recursive: true });
  const scratch = mkdtempSync(join(dirname(folder), '.build-'));
  try {
    await build(commit, scratch, say);
    renameSync(scratch, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return found;
}

/** As a user would, of a checkout of that release. */
async function build(commit: string, folder: string, say: (line: string) => void): Promise<void> {
  const tree = join(folder, 'tree');
  const archive = join(folder, 'tree.tar');
  mkdirSync(tree);
  await run('git', ['-C', root, 'archive', '--output', archive, commit], {
    timeoutMs: GIT_MS,
  });
  await run('tar', ['-x', '-f', archive, '-C', tree], { timeoutMs: GIT_MS });
  rmSync(archive);
  const file = join(folder, 'image.tar');
  const image = ['image', 'IMAGE=', 'IMAGE_TOOL=docker', 'IMAGE_ARCH=', `IMAGE_FILE=${file}`];
  // in the user's own Docker an image of that name would change its meaning, and stay
  await withDocker({ own: true, say }, async (docker) => {
    // its own words to make, not those of the make that we may have been started by
    const env = { ...docker.env, MAKEFLAGS: '', MAKELEVEL: '' };
    await run('make', image, { cwd: tree, env, onLine: say, timeoutMs: MAKE_MS });
  });
  for (const big of ['node_modules', 'dist']) {
    rmSync(join(tree, big), { recursive: true, force: true });
  }
}

async function commitOf(version: string): Promise<string> {
  const args = ['-C', root, 'rev-parse', '--verify', '--quiet', `v${version}^{commit}`];
  const tagged = await run('git', args, { timeoutMs: GIT_MS }).catch(() => '');
  if (tagged !== '') return tagged.trim();
  const history = ['-C', root, 'log', '--format=%H %s'];
  const log = await run('git', history, { timeoutMs: GIT_MS }).catch(() => '');
  const commit = releaseCommit(log, version);
  if (commit !== undefined) return commit;
  throw new Error(
    `the release ${version} is not in this checkout: it has neither the tag v${version} nor its commit. A full clone has both (git fetch --unshallow --tags).`,
  );
}

/** Where tags were left behind: a release is the commit that says so. `log`: lines of `HASH SUBJECT` */
export function releaseCommit(log: string, version: string): string | undefined {
  const ending = ` chore: ${version}`;
  const isIt = (line: string) => line.indexOf(' ') === line.length - ending.length;
  return log
    .split('\n')
    .find((line) => line.endsWith(ending) && isIt(line))
    ?.slice(0, -ending.length);
}
