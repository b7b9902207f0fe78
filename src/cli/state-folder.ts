/**
 * The folder in which an agent remembers what it announced. It is read on the main thread at the start, so a thread looks at it first: a file
 * system that does not answer must not keep the machine's routes from being announced. What was remembered is missing then, and nothing
 * is remembered until the next start.
 */

import { fileThreads } from '../checks/file-threads.ts';
import type { Log } from '../log/log.ts';

const PATIENCE_MS = 3000;
/** nothing can be below it: whoever reads finds nothing there, and whoever writes is told so */
const NOWHERE = '/dev/null/herald';

export async function usableStateFolder(folder: string, log: Log): Promise<string> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), PATIENCE_MS);
  const looked = fileThreads.folder(folder, 'state').then(() => true);
  const answers = await Promise.race([looked, late]);
  clearTimeout(timer);
  if (answers) return folder;
  const message = 'its file system does not answer; going on without the state folder';
  log.warn('state.save', { file: folder }, message);
  return NOWHERE;
}
