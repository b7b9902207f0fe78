/** What a command reads from a path that its user named: what cannot be read is told in a sentence. */

import { readFileSync } from 'node:fs';
import { errorCode } from '../error-code.ts';
import { UsageError } from './command.ts';

export function textOf(path: string): string {
  return asked(path, () => readFileSync(path, 'utf8'));
}

/** `ask` looks at the path; an error of the system becomes a word about the path. */
export function asked<T>(path: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    throw new UsageError(
      `${path} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : code}`,
    );
  }
}
