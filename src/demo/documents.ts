/** The documents of one machine, as a person would write them: its router, the pool, the address that all three claim. */

import { CLAIM, DRAIN_SECONDS, type Member, POOL, ROUTER_ADDRESS, ROUTER_ASN } from './cast.ts';

/** file names and texts */
export function agentDocuments(
  { address }: Member,
  routerPort: number,
  holdSeconds: number,
): ReadonlyMap<string, string> {
  const peer = `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata:
  name: router
spec:
  address: ${ROUTER_ADDRESS}
  port: ${routerPort}
  asn: ${ROUTER_ASN}
  sourceAddress: ${address}
  families: [ipv4]
  timers: {holdSeconds: ${holdSeconds}, keepaliveSeconds: 1, connectRetrySeconds: 1}
`;
  const pool = `apiVersion: herald.dev/v1alpha1
kind: IPPool
metadata:
  name: control-plane
spec:
  addresses: ["${POOL}"]
  drain: {waitSeconds: ${DRAIN_SECONDS}}
`;
  const claim = `apiVersion: herald.dev/v1alpha1
kind: IPClaim
metadata:
  name: ${CLAIM}
spec: {}
`;
  return new Map([
    ['peer.yaml', peer],
    ['pool.yaml', pool],
    ['claim.yaml', claim],
  ]);
}
