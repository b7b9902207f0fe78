/** One node: its files, written once, and its programs, started at every boot. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { certificateOf, writeKubeconfig } from '../../tools/cluster/kubeconfig.ts';
import type { KeyPair, Pki } from '../../tools/cluster/pki.ts';
import type { ProgramName } from '../../tools/kubernetes/version.ts';
import { makeGroups } from './cgroups.ts';
import { noteChanged } from './changed-controllers.ts';
import {
  containerdConfig,
  KUBELET_SYSCTLS,
  kubeletArgs,
  kubeletConfig,
  networkConfig,
  proxyConfig,
} from './configs.ts';
import { apiUrl } from './control-plane.ts';
import { clusterGroup } from './down.ts';
import { type Daemon, type Machine, startMachine } from './machine.ts';
import type { ClusterPlan, NodePlan } from './plan.ts';
import { PAUSE_IMAGE } from './pod-program.ts';

/** What every start needs to know. */
export interface ClusterContext {
  readonly plan: ClusterPlan;
  readonly folder: string;
  readonly programs: ReadonlyMap<ProgramName, string>;
  /** the program of pod-program.ts */
  readonly pause: string;
}

const POLL_MS = 250;
const CONTAINERD_MS = 30_000;
/** Some 200 MB, on three nodes at the same time, on a machine that is busy with their start. */
const IMPORT_MS = 300_000;

export function programOf({ programs }: ClusterContext, name: ProgramName): string {
  const path = programs.get(name);
  if (path === undefined) throw new Error(`${name} cannot be had.`);
  return path;
}

export function kubeconfigFor(
  context: ClusterContext,
  pki: Pki,
  name: string,
  client: KeyPair,
): string {
  return writeKubeconfig(join(context.folder, `${name}.kubeconfig`), {
    server: apiUrl(context.plan),
    ca: pki.ca,
    credentials: certificateOf(client),
  });
}

const fileOf = ({ folder }: ClusterContext, node: NodePlan, name: string): string =>
  join(folder, node.name, name);

/** Keys and settings of a node's programs. */
export function writeNodeFiles(context: ClusterContext, node: NodePlan, pki: Pki): void {
  const file = (name: string) => fileOf(context, node, name);
  mkdirSync(file('cni'), { recursive: true });
  writeFileSync(file('cni/pods.conflist'), JSON.stringify(networkConfig(node)));
  const sandboxImage = `docker.io/${PAUSE_IMAGE}`;
  writeFileSync(
    file('containerd.toml'),
    containerdConfig({ sandboxImage, cniFolder: file('cni') }),
  );
  const identity = pki.client(`system:node:${node.name}`, ['system:nodes']);
  const kubeconfig = kubeconfigFor(context, pki, `${node.name}/kubelet`, identity);
  const group = clusterGroup(context.plan.name, node.name);
  const files = { caFile: pki.caFile, kubeconfig };
  writeFileSync(file('kubelet.json'), JSON.stringify(kubeletConfig(group, files)));
  const proxyIdentity = pki.client('system:kube-proxy', []);
  const proxyAccess = kubeconfigFor(context, pki, `${node.name}/kube-proxy`, proxyIdentity);
  writeFileSync(file('kube-proxy.json'), JSON.stringify(proxyConfig(node, proxyAccess)));
}

export interface BootedNode {
  readonly machine: Machine;
  readonly containerd: Daemon;
}

/** The machine with a containerd that answers. */
export async function bootNode(context: ClusterContext, node: NodePlan): Promise<BootedNode> {
  noteChanged(context.folder, makeGroups(clusterGroup(context.plan.name, node.name)));
  const machine = await startMachine({
    name: node.name,
    netns: node.netns,
    folder: join(context.folder, node.name),
    pause: context.pause,
    sysctls: KUBELET_SYSCTLS,
  });
  const config = fileOf(context, node, 'containerd.toml');
  const containerd = machine.start('containerd', 'containerd', ['--config', config]);
  await answers(machine, containerd);
  return { machine, containerd };
}

/** kubelet and kube-proxy; the API server need not answer yet. */
export function startKubelet(
  context: ClusterContext,
  node: NodePlan,
  machine: Machine,
): readonly Daemon[] {
  const file = (name: string) => fileOf(context, node, name);
  const args = kubeletArgs(node, file('kubelet.json'), file('kubelet.kubeconfig'));
  return [
    machine.start('kubelet', programOf(context, 'kubelet'), args),
    machine.start('kube-proxy', programOf(context, 'kube-proxy'), [
      `--config=${file('kube-proxy.json')}`,
    ]),
  ];
}

/** Into the containerd that kubelet asks. */
export async function importImage(machine: Machine, file: string): Promise<void> {
  await machine.run('ctr', ['--namespace', 'k8s.io', 'images', 'import', file], IMPORT_MS);
}

async function answers(machine: Machine, daemon: Daemon): Promise<void> {
  const started = performance.now();
  for (;;) {
    daemon.check();
    try {
      const list = ['--namespace', 'k8s.io', 'images', 'list', '--quiet'];
      await machine.run('ctr', list, CONTAINERD_MS);
      return;
    } catch (error) {
      if (performance.now() - started > CONTAINERD_MS) throw error;
    }
    await delay(POLL_MS);
  }
}
