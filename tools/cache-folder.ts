/** What is made once and kept outside the checkout: `${XDG_CACHE_HOME:-~/.cache}/herald`, and what is below it. */

import { homedir } from 'node:os';
import { join } from 'node:path';

export function inCache(...parts: readonly string[]): string {
  const { XDG_CACHE_HOME: base = '' } = process.env;
  return join(base === '' ? join(homedir(), '.cache') : base, 'herald', ...parts);
}
