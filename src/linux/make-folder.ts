/**
 * A folder and those above it. Node's own recursive mkdir never returns where a file system says ENOENT below a folder that exists
 * (/proc, automounts), and whoever calls this must not hang for a wrong path.
 */

import { existsSync, mkdirSync } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../error-code.ts';

export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolder(above);
  try {
    mkdirSync(path, { mode: 0o755 });
  } catch (error) {
    // another process was quicker, which is as good
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

/** The same without waiting for the disk. */
export async function makeFolderLater(path: string): Promise<void> {
  if (await isThere(path)) return;
  const above = dirname(path);
  if (above !== path) await makeFolderLater(above);
  try {
    await mkdir(path, { mode: 0o755 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
