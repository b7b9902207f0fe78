/** Writes the ToRs' files, or says with --check which of them is out of date. own-lines.ts tells what they are made of. */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { manifestArguments, ownLines, type Rack, racks } from './own-lines.ts';

const here = import.meta.dirname;
const herald = join(here, '../../src/cli/herald');
/** a program that hangs fails this step and holds up no suite */
const LONGEST_MS = 30_000;

export const routerFile = (rack: Rack) => join(here, rack.router, 'frr.conf');

export function routerText(rack: Rack): string {
  const generated = execFileSync(herald, manifestArguments(rack, here), {
    encoding: 'utf8',
    timeout: LONGEST_MS,
  });
  return `${generated}${ownLines(rack)}`;
}

function main(args: readonly string[]): number {
  if (args.length > 1 || (args[0] ?? '--check') !== '--check') {
    process.stderr.write('usage: node lab/configs/generate.ts [--check]\n');
    return 2;
  }
  const isCheck = args[0] === '--check';
  const stale = racks.filter((rack) => {
    const file = routerFile(rack);
    return !existsSync(file) || readFileSync(file, 'utf8') !== routerText(rack);
  });
  for (const rack of stale) {
    if (isCheck) process.stderr.write(`${routerFile(rack)} is not what would be written\n`);
    else writeFileSync(routerFile(rack), routerText(rack));
  }
  return isCheck && stale.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
