/** A folder for as long as some work takes; it goes with the process too, where a signal ends that by `process.exit`. */

import { mkdtempSync, rmSync } from 'node:fs';

export async function withFolder<T>(
  prefix: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(prefix);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    return await work(folder);
  } finally {
    process.off('exit', remove);
    remove();
  }
}
