/** Asks the API, at a stop, what speaks for a planned restart; for a short while only, and silence speaks against it. */

import type { Clock } from 'bgp-ts';
import { NAMESPACE } from '../../model/names.ts';
import { ApiError, ApiUnreachable, type KubeApi, type KubeObject } from '../../sources/kube/api.ts';
import {
  DAEMON_SETS,
  DEPLOYMENTS,
  inNamespace,
  PODS,
  REPLICA_SETS,
} from '../../sources/kube/resources.ts';
import { withDeadline } from './deadline.ts';
import { controllerOf, type RestartEvidence } from './restart-proof.ts';

export interface OwnPod {
  readonly name: string;
  readonly namespace?: string;
}

const DEADLINE_MS = 2000;

export async function podEvidence(
  api: KubeApi,
  clock: Clock,
  { name, namespace = NAMESPACE }: OwnPod,
): Promise<Pick<RestartEvidence, 'pod' | 'daemonSet' | 'replicaSet' | 'deployment'>> {
  let pod: KubeObject | undefined;
  try {
    return await withDeadline(clock, DEADLINE_MS, async (signal) => {
      pod = await api.get(inNamespace(PODS, namespace), name, { signal });
      const replicas = controllerOf(pod, 'ReplicaSet');
      if (replicas !== undefined) {
        const replicaSet = await api.get(inNamespace(REPLICA_SETS, namespace), replicas, {
          signal,
        });
        const above = controllerOf(replicaSet, 'Deployment') ?? '';
        const deployment = await api.get(inNamespace(DEPLOYMENTS, namespace), above, { signal });
        return { pod, daemonSet: undefined, replicaSet, deployment };
      }
      const owner = controllerOf(pod, 'DaemonSet');
      if (owner === undefined) return { pod, daemonSet: undefined };
      const daemonSet = await api.get(inNamespace(DAEMON_SETS, namespace), owner, { signal });
      return { pod, daemonSet };
    });
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof ApiUnreachable)) throw error;
    return { pod, daemonSet: undefined };
  }
}
