/**
 * Archives of images in the cache, which several checkouts share. Each use is noted in the file's date, and what nobody has used for a day is
 * removed: so no run takes a file from under another, and the cache does not grow with every build.
 */

import { globSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

const KEPT_MS = 24 * 60 * 60 * 1000;

/** Notes that the file is used now; false where there is none. */
export function useArchive(file: string, now = new Date()): boolean {
  try {
    utimesSync(file, now, now);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}

/** Also halves that a build left when it was killed. `pattern`: names in that folder */
export function removeUnused(folder: string, pattern: string, now = new Date()): void {
  for (const name of globSync(pattern, { cwd: folder })) {
    const file = join(folder, name);
    // another run may be faster than us
    const used = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (used !== undefined && now.getTime() - used > KEPT_MS) rmSync(file, { force: true });
  }
}
