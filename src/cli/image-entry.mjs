#!/opt/herald/bin/node --max-semi-space-size=2
/**
 * The launcher of the image, which has no shell: the kernel starts Node by the first line, with what most commands want. The others are started
 * again in the same process, with the flags that the launcher beside this file (`herald`) would give, and for its reasons.
 * MALLOC_ARENA_MAX is set by the image.
 */

import { join } from 'node:path';

const args = process.argv.slice(2);
const wanted = flagsFor(`${args.join(' ')} ${process.env.HERALD_SOURCE ?? ''} `);
const program = join(import.meta.dirname, 'herald.mjs');
if (wanted.join(' ') === process.execArgv.join(' ')) {
  await import(program);
} else {
  process.execve(process.execPath, [process.execPath, ...wanted, program, ...args], process.env);
}

function flagsFor(line) {
  if (/^agent.*[ =,]kube[ ,]/s.test(line)) {
    return ['--max-semi-space-size=2', '--optimize-for-size'];
  }
  return [`--max-semi-space-size=${line.startsWith('agent') ? 16 : 2}`];
}
