/**
 * The text of a small file of our own. A pipe, a device or a folder in its place is refused and not waited for, and so is one that is larger
 * than it could be: both come from a slip, and neither is a reason to hang at the start or to take all memory.
 */

import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';

const HOW = constants.O_RDONLY | constants.O_NONBLOCK;

/** Throws with a code of the system: EINVAL for what is no file, EFBIG for what is too large. */
export function readRegularFile(path: string, maxBytes: number): string {
  const fd = openSync(path, HOW);
  try {
    mustFit(path, fstatSync(fd), maxBytes);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** The same without waiting for the disk. */
export async function readRegularFileLater(path: string, maxBytes: number): Promise<string> {
  const file = await open(path, HOW);
  try {
    mustFit(path, await file.stat(), maxBytes);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

function mustFit(path: string, stat: Stats, maxBytes: number): void {
  if (!stat.isFile()) throw refusal('EINVAL', `${path} is not a file`);
  if (stat.size > maxBytes) throw refusal('EFBIG', `${path} is larger than ${maxBytes} octets`);
}

function refusal(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
