/** How the programs of the control plane are called. Pure. */

import type { KeyPair, Pki } from '../../tools/cluster/pki.ts';
import { API_PORT, type ClusterPlan, SERVICE_CIDR } from './plan.ts';

const flags = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings).map(([name, value]) => `--${name}=${value}`);

const ETCD = 'http://127.0.0.1:2379';
const ETCD_PEER = 'http://127.0.0.1:2380';

/** It is lost with the cluster anyway, and waits for no disk. */
export function etcdArgs(folder: string): string[] {
  return [
    ...flags({
      'data-dir': folder,
      'listen-client-urls': ETCD,
      'advertise-client-urls': ETCD,
      'listen-peer-urls': ETCD_PEER,
      'initial-advertise-peer-urls': ETCD_PEER,
      'initial-cluster': `default=${ETCD_PEER}`,
    }),
    '--unsafe-no-fsync',
  ];
}

export const apiUrl = (plan: ClusterPlan): string => `https://${plan.server.ipv4}:${API_PORT}`;

export interface ServerKeys {
  readonly pki: Pick<Pki, 'server' | 'caFile' | 'serviceAccountKey'>;
  /** what the API server shows to kubelets */
  readonly kubeletClient: KeyPair;
}

export function apiServerArgs(plan: ClusterPlan, { pki, kubeletClient }: ServerKeys): string[] {
  return flags({
    'etcd-servers': ETCD,
    'bind-address': plan.server.ipv4,
    'advertise-address': plan.server.ipv4,
    'secure-port': String(API_PORT),
    'tls-cert-file': pki.server.certFile,
    'tls-private-key-file': pki.server.keyFile,
    'client-ca-file': pki.caFile,
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': pki.serviceAccountKey,
    'service-account-signing-key-file': pki.serviceAccountKey,
    'service-cluster-ip-range': `${SERVICE_CIDR.ipv4},${SERVICE_CIDR.ipv6}`,
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'allow-privileged': 'true',
    'kubelet-preferred-address-types': 'InternalIP',
    'kubelet-client-certificate': kubeletClient.certFile,
    'kubelet-client-key': kubeletClient.keyFile,
  });
}

/**
 * With an election, as in any cluster, though there is nobody to be elected against: one that cannot reach the API server ends and begins anew. A
 * controller manager that lived through that would take all nodes for dead the moment the server is back, before they can say otherwise.
 */
const asClient = (kubeconfig: string): Readonly<Record<string, string>> => ({
  kubeconfig,
  'authentication-kubeconfig': kubeconfig,
  'authorization-kubeconfig': kubeconfig,
  'bind-address': '127.0.0.1',
});

export const controllerManagerArgs = (kubeconfig: string, pki: ServerKeys['pki']): string[] =>
  flags({
    ...asClient(kubeconfig),
    'root-ca-file': pki.caFile,
    'service-account-private-key-file': pki.serviceAccountKey,
    'use-service-account-credentials': 'true',
    // the default is a folder in /usr, which it makes
    'flex-volume-plugin-dir': '/var/lib/kubelet/volume-plugins',
    'service-cluster-ip-range': `${SERVICE_CIDR.ipv4},${SERVICE_CIDR.ipv6}`,
  });

export const schedulerArgs = (kubeconfig: string): string[] => flags(asClient(kubeconfig));
