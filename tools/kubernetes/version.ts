/**
 * The one Kubernetes of this repository, and where its programs are built. Every test, the cluster of `make cluster` and the
 * generated types speak of this version; a new one is an edit here.
 */

import { inCache } from '../cache-folder.ts';

export const kubernetesVersion = '1.34.4';
/** The libraries of the same release carry a major version of 0. */
export const stagingVersion = `v0.${kubernetesVersion.split('.').slice(1).join('.')}`;

export const programNames = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
  'kube-proxy',
  'kubectl',
] as const;
export type ProgramName = (typeof programNames)[number];

export const isProgramName = (text: string): text is ProgramName =>
  programNames.some((name) => name === text);

/** What is made once and kept outside the checkout. */
export function cacheFolder(): string {
  return inCache('kubernetes', kubernetesVersion);
}
