/**
 * Ends the process whatever its threads do. `process.exit` waits for all of them, and one that asks a file system that does not answer is in
 * the kernel for as long as that: what has withdrawn its routes would stand there until it is killed, and its successor would wait.
 */

import { createRequire } from 'node:module';

/** Returns where the C library is not to be had. Nothing that waits to be written is written: that is up to the caller. */
export function exitNow(status: number): void {
  let koffi: typeof import('koffi');
  try {
    koffi = createRequire(import.meta.url)('koffi');
  } catch {
    return;
  }
  koffi.load(null).func('void _exit(int status)')(status);
}
