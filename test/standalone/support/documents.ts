/** The documents of the standalone tests, as a person would write them. */

import { edgeAsn, holdSeconds, pool } from './addresses.ts';

export type ClaimOptions = {
  readonly address: string;
  /** The holder; makes the claim exclusive. */
  readonly node?: string;
};

export function peerDocument(gateway: string): string {
  return `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata:
  name: edge
spec:
  address: ${gateway}
  asn: ${edgeAsn}
  timers: {holdSeconds: ${holdSeconds}, keepaliveSeconds: 1, connectRetrySeconds: 1}
`;
}

export function poolDocument(drainSeconds: number): string {
  return `apiVersion: herald.dev/v1alpha1
kind: IPPool
metadata:
  name: control-plane
spec:
  addresses: ["${pool}"]
  drain: {waitSeconds: ${drainSeconds}}
`;
}

export function claimDocument({ address, node }: ClaimOptions): string {
  const exclusive = node === undefined ? '' : `  placement: {mode: exclusive}\n  node: ${node}\n`;
  return `apiVersion: herald.dev/v1alpha1
kind: IPClaim
metadata:
  name: ${address}
spec:
${exclusive}  bind: {interface: lo}
`;
}
