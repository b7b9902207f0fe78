/** What Herald reads of a core/v1 Node. */

import type { Labels } from './labels.ts';
import { OUT_OF_SERVICE_TAINT } from './names.ts';

export interface ClusterNode {
  readonly name: string;
  readonly uid: string;
  readonly labels: Labels;
  readonly taints: readonly Taint[];
  readonly isUnschedulable: boolean;
  readonly isBeingDeleted: boolean;
  /** condition Ready; `unknown` too when there is none */
  readonly ready: 'true' | 'false' | 'unknown';
  /** status.nodeInfo.bootID: which boot of the machine this is */
  readonly bootId?: string;
  /** InternalIP and ExternalIP, as they are written */
  readonly addresses: readonly string[];
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

/** a person says that the machine is off */
export function isOutOfService({ taints }: Pick<ClusterNode, 'taints'>): boolean {
  return taints.some(({ key }) => key === OUT_OF_SERVICE_TAINT);
}
