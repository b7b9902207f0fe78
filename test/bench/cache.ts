/**
 * Things that are made once and kept outside the checkout: `${XDG_CACHE_HOME:-~/.cache}/herald/bench`. A name carries the
 * hash of all that the thing is made from, so a change of a generator makes a new one and never reuses an old one.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { inCache } from '../../tools/cache-folder.ts';
import { run } from '../support/process.ts';

const goBuildBoundMs = 600_000;

export function cacheFolder(): string {
  const folder = inCache('bench');
  mkdirSync(folder, { recursive: true });
  return folder;
}

export function hashOf(parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex').slice(0, 16);
}

/** The path of a cached file; `make` writes it under a temporary name, so that a killed run leaves no half of one. */
export async function cached(
  name: string,
  make: (temporary: string) => Promise<void>,
): Promise<string> {
  const file = join(cacheFolder(), name);
  if (existsSync(file)) return file;
  const temporary = `${file}.${process.pid}`;
  await make(temporary);
  renameSync(temporary, file);
  return file;
}

/** Builds the Go program in a folder beside this file. */
export async function goProgram(name: string): Promise<string> {
  const folder = join(import.meta.dirname, name);
  const sources = readdirSync(folder).sort();
  const { stdout: version } = await run('go', ['version'], { anyStatus: true });
  const hash = hashOf([version, ...sources.map((file) => readFileSync(join(folder, file)))]);
  return await cached(`${name}-${hash}`, async (temporary) => {
    const args = ['build', '-C', folder, '-trimpath', '-buildvcs=false', '-o', temporary, '.'];
    await run('go', args, { timeoutMs: goBuildBoundMs });
  });
}
