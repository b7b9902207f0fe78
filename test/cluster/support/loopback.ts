/**
 * Several nodes on one machine without namespaces: their agents dial the routers on loopback, each from an address of its own, since a router knows
 * its neighbours by address. Pure: bodies for the API.
 */

import { API_VERSION } from '../../../src/model/names.ts';

export interface LoopbackRouter {
  readonly address: string;
  readonly port: number;
  readonly asn: number;
}

export const AGENT_ASN = 64_512;

/** 127.0.1.1 for the first node */
export const nodeSource = (index: number): string =>
  `127.0.${1 + Math.floor(index / 250)}.${(index % 250) + 1}`;

/** A BGPPeer that all these nodes have, with an override per node for where it dials from. At most 256 nodes. */
export function loopbackPeer(
  name: string,
  { address, port, asn }: LoopbackRouter,
  nodes: readonly string[],
  spec: object = {},
): object {
  return {
    apiVersion: API_VERSION,
    kind: 'BGPPeer',
    metadata: { name },
    spec: {
      address,
      port,
      asn,
      localASN: AGENT_ASN,
      multihop: 2,
      timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 1 },
      overrides: nodes.map((node, index) => ({
        nodeSelector: { matchLabels: { 'kubernetes.io/hostname': node } },
        sourceAddress: nodeSource(index),
      })),
      ...spec,
    },
  };
}
