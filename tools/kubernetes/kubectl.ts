/**
 * kubectl for whoever starts a cluster: the one on PATH, of whatever version, else ours of the cache, built when it must be. Debian's own
 * package is too old for the fields that are used here.
 */

import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { kubernetesPrograms } from './assets.ts';
import type { Say } from './go.ts';

/** Has a kubectl on this process's PATH. What it answers is the folder that was added to it, if any. */
export async function ensureKubectl(say: Say): Promise<string | undefined> {
  if (spawnSync('sh', ['-c', 'command -v kubectl']).status === 0) return undefined;
  const program = (await kubernetesPrograms(['kubectl'], say)).get('kubectl');
  if (program === undefined) throw new Error('kubectl cannot be had');
  const folder = dirname(program);
  process.env['PATH'] = `${process.env['PATH'] ?? ''}:${folder}`;
  return folder;
}
