/** Which boot of this machine it is, as its kernel tells it; a kubelet puts the same into its Node's status. */

import { readFileSync } from 'node:fs';
import { errorCode } from '../error-code.ts';

const FILE = '/proc/sys/kernel/random/boot_id';

/** undefined where the kernel does not tell */
export function readBootId(): string | undefined {
  try {
    const text = readFileSync(FILE, 'utf8').trim();
    return text === '' ? undefined : text;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}
