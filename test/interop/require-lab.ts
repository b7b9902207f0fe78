/**
 * Whether this machine can run the interop tests, and if not, what exactly is missing. Tests never
 * pass because a router is absent: they skip with a sentence on stderr, and fail where HERALD_REQUIRE_LAB is set.
 */

import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import type { RouterKind } from './routers/router.ts';

export const allRouters: readonly RouterKind[] = ['bird', 'frr', 'gobgp', 'openbgpd', 'exabgp'];

const routerPrograms: Readonly<Record<RouterKind, readonly string[]>> = {
  bird: ['bird', 'birdc'],
  frr: ['/usr/lib/frr/zebra', '/usr/lib/frr/bgpd', 'vtysh'],
  gobgp: ['gobgpd', 'gobgp'],
  openbgpd: ['/usr/sbin/bgpd', 'bgpctl'],
  exabgp: ['exabgp'],
};
const toolPrograms = ['ip', 'nft', 'sysctl', 'ethtool', 'dumpcap', 'tshark', 'bash'];

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isInstalled(program: string): boolean {
  if (program.startsWith('/')) return isExecutable(program);
  const { PATH: path = '' } = process.env;
  return path.split(':').some((folder) => isExecutable(`${folder}/${program}`));
}

/** One sentence per missing part; an empty list means the lab can run. */
export function requireLab(routers: readonly RouterKind[] = allRouters): string[] {
  const missing: string[] = [];
  if (process.getuid?.() !== 0) missing.push('root: network namespaces need it.');
  else if (spawnSync('unshare', ['--net', 'true']).status !== 0) {
    missing.push('network namespaces: the kernel refuses to make one (unshare --net).');
  }
  for (const program of toolPrograms.filter((each) => !isInstalled(each))) {
    missing.push(`${program}: not installed; run \`make setup\`.`);
  }
  for (const router of routers) {
    const absent = routerPrograms[router].filter((each) => !isInstalled(each));
    if (absent.length > 0) missing.push(`${router}: no ${absent.join(', ')}; run \`make setup\`.`);
  }
  return missing;
}

/** For a `before` hook: skips loudly, or fails when HERALD_REQUIRE_LAB says that the lab must be there. */
export function skipWithoutLab(context: Mocha.Context, routers?: readonly RouterKind[]): void {
  const missing = requireLab(routers);
  if (missing.length === 0) return;
  skipLoudly(context, `interop lab is missing: ${missing.join(' ')}`);
}

/** Skips with a sentence on stderr, or fails with it where HERALD_REQUIRE_LAB is set. */
export function skipLoudly(context: Mocha.Context, sentence: string): void {
  const { HERALD_REQUIRE_LAB: required = '' } = process.env;
  if (required !== '') throw new Error(sentence);
  process.stderr.write(`SKIPPED: ${sentence}\n`);
  context.skip();
}
