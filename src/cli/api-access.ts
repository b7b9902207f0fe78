/** The way to the API that the settings of a role name. What is wrong with it is the user's to mend, so it is a UsageError. */

import { readFileSync } from 'node:fs';
import { nodeClock } from 'bgp-ts';
import { parseServers } from '../config/api-servers.ts';
import type { ApiSettingTexts } from '../config/api-settings.ts';
import { KubeAccessError } from '../sources/kube/find-kubeconfig.ts';
import { type KubeAccess, loadKubeAccess } from '../sources/kube/kube-access.ts';
import { UsageError, type World } from './command.ts';

/** Throws a UsageError with what to do where there is no way to the API. */
export async function accessOf(settings: ApiSettingTexts, { env }: World): Promise<KubeAccess> {
  const { kubeconfig, context, apiServer } = settings;
  try {
    return await loadKubeAccess({
      ...(kubeconfig !== '' && { kubeconfig }),
      ...(context !== '' && { context }),
      servers: parseServers(apiServer),
      env,
      readFile: (path) => readFileSync(path, 'utf8'),
      clock: nodeClock,
    });
  } catch (error) {
    if (error instanceof KubeAccessError) throw new UsageError(error.message);
    throw error;
  }
}
