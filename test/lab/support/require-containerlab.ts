/** What the tests with a real containerlab need; they skip loudly without it, and fail where HERALD_REQUIRE_LAB is set. */

import { spawnSync } from 'node:child_process';
import { whyNoDocker } from '../../../lab/docker/docker.ts';
import { skipLoudly } from '../../interop/require-lab.ts';

const programs = ['ip', 'nft', 'flock', 'debootstrap'];

/** For a `before` hook. */
export function skipWithoutContainerlab(context: Mocha.Context): void {
  const missing = programs
    .filter((each) => spawnSync('sh', ['-c', 'command -v "$0"', each]).status !== 0)
    .map((each) => `${each}: not installed; run \`make setup\`.`);
  if (process.getuid?.() !== 0) missing.push('root: containerlab makes network namespaces.');
  missing.push(...whyNoDocker({ own: true }));
  if (missing.length > 0)
    skipLoudly(context, `the test with containerlab cannot run: ${missing.join(' ')}`);
}
