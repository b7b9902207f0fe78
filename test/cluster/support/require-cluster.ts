/** What tests with a cluster need; they skip loudly without it, and fail where HERALD_REQUIRE_LAB is set. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../../tools/kubernetes/version.ts';
import { requireLab, skipLoudly } from '../../interop/require-lab.ts';

const PROGRAMS = ['etcd', 'openssl', 'setpriv'];

export interface ClusterNeeds {
  /** network namespaces, thus root */
  readonly lab?: boolean;
  /** BIRD on loopback, which needs no root */
  readonly bird?: boolean;
}

/** For a `before` hook that starts a cluster. */
export function skipWithoutCluster(context: Mocha.Context, needs: ClusterNeeds = {}): void {
  const programs = [...PROGRAMS, ...(needs.bird === true ? ['bird'] : [])];
  const missing = programs
    .filter((each) => !isInstalled(each))
    .map((each) => `${each}: not installed; run \`make setup\`.`);
  if (!canHaveApiServer())
    missing.push('kube-apiserver: neither built nor is there a Go to build it.');
  if (needs.lab === true) missing.push(...requireLab(['bird']));
  if (missing.length === 0) return;
  skipLoudly(context, `tests with a cluster cannot run: ${missing.join(' ')}`);
}

function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$0"', program]).status === 0;
}

/** Given, built already, or to be built: a Go that is missing is fetched, but there is one for these machines only. */
function canHaveApiServer(): boolean {
  const { KUBEBUILDER_ASSETS: assets = '' } = process.env;
  const isBuilt = existsSync(join(cacheFolder(), 'kube-apiserver'));
  return assets !== '' || isBuilt || isInstalled('go') || ['x64', 'arm64'].includes(process.arch);
}
