/**
 * Gate 1, `joined`. Pure. Claims of files wait for the join check, claims of the API for the Node: an address that the cluster itself is
 * reached by must stand before there is a Node, and a Service must not go with the API server of its machine.
 */

import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { optional } from '../model/optional.ts';
import type { Gate } from './gate.ts';
import type { Finding, View } from './view.ts';

/** Made once per decision: the same objects for every claim. */
export interface JoinedGates {
  readonly files: Gate;
  readonly api: Gate;
  /** of pools that withdraw while the Node is not Ready */
  readonly strict: Gate;
}

const NO_CLUSTER: Finding = { isOpen: false, sentence: 'no cluster is a source of this agent' };

export function joinedGates({ joined, cluster }: View): JoinedGates {
  const api = gateOf(cluster?.joined ?? NO_CLUSTER);
  const isNotReady = cluster?.joined.isOpen === true && !cluster.isReady;
  return { files: gateOf(joined), api, strict: isNotReady ? NOT_READY : api };
}

const NOT_READY = gateOf({
  isOpen: false,
  sentence: 'the Node is not Ready, and the pool withdraws then (notReady: withdraw)',
  remedy: 'see why the kubelet is not Ready, or set notReady of the pool to keep',
});

export function joinedGateOf(
  { source }: Sourced<IpClaim>,
  pool: IpPool | undefined,
  gates: JoinedGates,
): Gate {
  if (source !== 'api') return gates.files;
  return pool?.notReady === 'withdraw' ? gates.strict : gates.api;
}

/** The gate of the machine as a whole: the cluster's word where there is one. */
export function nodeGate(view: View): Gate {
  return gateOf(view.cluster?.joined ?? view.joined);
}

function gateOf({ isOpen, sentence, remedy, isUnknown }: Finding): Gate {
  if (isOpen) return { name: 'joined', state: 'open', sentence };
  return {
    name: 'joined',
    state: 'closed',
    sentence,
    ...optional('remedy', remedy),
    ...optional('isUnknown', isUnknown),
  };
}
