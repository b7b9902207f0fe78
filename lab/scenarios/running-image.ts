/** Whether a lab that was up already runs what this checkout has built: what a node's agent was started from, file by file, beside dist/. */

import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../runner/machine.ts';

const dist = join(import.meta.dirname, '../../dist');
/** in the image, and so in the root folder of its processes */
const PLACE = 'opt/herald';
const PROGRAM = 'herald.mjs';
const FILES = [PROGRAM, 'chunks/**'];

/** `namespace`: the network of one of its nodes, which its agent shares */
export async function runsOtherImage(namespace: string): Promise<boolean> {
  const own = hashOf(dist);
  const { stdout } = await run(['ip', 'netns', 'pids', namespace], { anyStatus: true });
  const folders = stdout
    .split('\n')
    .filter((pid) => pid !== '')
    .map((pid) => join('/proc', pid, 'root', PLACE))
    .filter((folder) => existsSync(join(folder, PROGRAM)));
  return folders.some((folder) => hashOf(folder) !== own);
}

function hashOf(folder: string): string {
  const hash = createHash('sha256');
  for (const name of globSync(FILES, { cwd: folder }).sort()) {
    const path = join(folder, name);
    if (statSync(path).isFile()) hash.update(`${name}\0`).update(readFileSync(path));
  }
  return hash.digest('hex');
}
