/** The documents of the standalone tests, as a person would write them. */

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { edgeAsn, holdSeconds, pool } from './addresses.ts';

export type DocumentOptions = {
  /** The router's address on this machine's link. */
  readonly router: string;
  readonly address: string;
  /** The holder; makes the claim exclusive. */
  readonly node?: string;
};

/** The files of a master: the router, the pool and one claim. Written as an editor does, by renaming. */
export function writeDocuments(folder: string, options: DocumentOptions, drainSeconds = 1): void {
  mkdirSync(folder, { recursive: true });
  writeDocument(folder, 'peer.yaml', peerDocument(options.router));
  writeDocument(folder, 'pool.yaml', poolDocument(drainSeconds));
  writeDocument(folder, 'claim.yaml', claimDocument(options));
}

function writeDocument(folder: string, file: string, content: string): void {
  const temporary = join(folder, `.${file}`);
  writeFileSync(temporary, content);
  renameSync(temporary, join(folder, file));
}

function peerDocument(router: string): string {
  return `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata:
  name: edge
spec:
  address: ${router}
  asn: ${edgeAsn}
  timers: {holdSeconds: ${holdSeconds}, keepaliveSeconds: 1, connectRetrySeconds: 1}
`;
}

function poolDocument(drainSeconds: number): string {
  return `apiVersion: herald.dev/v1alpha1
kind: IPPool
metadata:
  name: control-plane
spec:
  addresses: ["${pool}"]
  drain: {waitSeconds: ${drainSeconds}}
`;
}

function claimDocument({ address, node }: DocumentOptions): string {
  const exclusive = node === undefined ? '' : `  placement: {mode: exclusive}\n  node: ${node}\n`;
  return `apiVersion: herald.dev/v1alpha1
kind: IPClaim
metadata:
  name: ${address}
spec:
${exclusive}  bind: {interface: lo}
`;
}
