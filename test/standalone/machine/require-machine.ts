/** For a `before` hook: whether whole machines can be booted here; if not, it skips loudly, or fails where HERALD_REQUIRE_LAB is set. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { skipLoudly, skipWithoutLab } from '../../interop/require-lab.ts';

const PROGRAMS = ['debootstrap', 'chroot', 'unshare', 'nsenter', 'setpriv', 'openssl', 'python3'];

export function skipWithoutMachines(context: Mocha.Context): void {
  skipWithoutLab(context, ['bird']);
  const missing = PROGRAMS.filter(
    (each) => spawnSync('sh', ['-c', `command -v ${each}`]).status !== 0,
  );
  if (missing.length > 0)
    skipLoudly(context, `booting a machine needs ${missing.join(', ')}; run \`make setup\`.`);
  if (!readFileSync('/proc/filesystems', 'utf8').includes('\tcgroup2\n'))
    skipLoudly(context, 'booting a machine needs version 2 of the control groups (cgroup2).');
}
