/** Keys come from files: an argument would be seen by everybody who lists processes. */

import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { UsageError } from './command.ts';
import { asked } from './read-path.ts';

const MAX_KEY_OCTETS = 80;
const CARRIAGE_RETURN = 0x0d;

export function readBytes(file: string): Buffer {
  return asked(file, () => readFileSync(file));
}

/** The kernel signs with the octets of the file; a text that is not UTF-8 would not come out of a string as it went in. */
export function readPassword(file: string): string {
  const bytes = readBytes(file);
  const end = bytes.indexOf('\n');
  const line = bytes.subarray(0, end === -1 ? bytes.length : end);
  const key = line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
  if (key.length < 1 || key.length > MAX_KEY_OCTETS || !isUtf8(key)) {
    throw new UsageError(
      `the first line of ${file} must hold a key of 1 to ${MAX_KEY_OCTETS} octets, in UTF-8`,
    );
  }
  return key.toString('utf8');
}
