/**
 * Which `herald` the standalone tests run: what users run, dist/herald, when it is not older than the sources; else the sources as they
 * are, which start slower but never are yesterday's program. HERALD_PROGRAM names another.
 */

import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

export function heraldProgram(): string {
  const { HERALD_PROGRAM: named = '' } = process.env;
  if (named !== '') return named;
  return isDistFresh() ? join(root, 'dist/herald') : join(root, 'src/cli/herald');
}

function isDistFresh(): boolean {
  try {
    const built = statSync(join(root, 'dist/herald.mjs')).mtimeMs;
    const sources = globSync(['src/**/*.{ts,yaml}', 'protocol/**/*.ts', 'deploy/**/*.yaml'], {
      cwd: root,
      exclude: ['**/node_modules/**', '**/dist/**'],
    });
    return sources.every((file) => statSync(join(root, file)).mtimeMs <= built);
  } catch {
    return false;
  }
}
