/** What the standalone tests need besides the interop lab; they skip loudly without it, as those do. */

import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { skipLoudly, skipWithoutLab } from '../../interop/require-lab.ts';

const programs = ['openssl', 'ss', 'flock', 'etcd'];

export function skipWithoutStandalone(context: Mocha.Context): void {
  skipWithoutLab(context, ['bird', 'frr']);
  const missing = programs.filter(
    (each) => spawnSync('sh', ['-c', `command -v ${each}`]).status !== 0,
  );
  if (globSync('/usr/lib/*/faketime/libfaketimeMT.so.1').length === 0) missing.push('libfaketime');
  if (missing.length === 0) return;
  skipLoudly(context, `standalone tests need ${missing.join(', ')}; run \`make setup\`.`);
}
