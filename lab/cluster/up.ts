/**
 * Brings a real Kubernetes up on nodes that others have put into a network: control plane, then on each node containerd, kubelet and kube-proxy, all in
 * the background, to stay when this process has ended. down.ts takes it away again, by the name alone.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { certificateOf, writeKubeconfig } from '../../tools/cluster/kubeconfig.ts';
import { type KeyPair, Pki } from '../../tools/cluster/pki.ts';
import { kubernetesPrograms } from '../../tools/kubernetes/assets.ts';
import { type ProgramName, programNames } from '../../tools/kubernetes/version.ts';
import { apiReady, Kubectl } from './api.ts';
import { makeGroups } from './cgroups.ts';
import {
  containerdConfig,
  KUBELET_SYSCTLS,
  kubeletArgs,
  kubeletConfig,
  networkConfig,
  proxyConfig,
} from './configs.ts';
import {
  apiServerArgs,
  apiUrl,
  controllerManagerArgs,
  etcdArgs,
  schedulerArgs,
} from './control-plane.ts';
import { clusterFolder, clusterGroup } from './down.ts';
import { type Daemon, type Machine, startMachine } from './machine.ts';
import { hostRoutes, makeNetwork } from './network.ts';
import {
  type ClusterPlan,
  KUBERNETES_SERVICE,
  type NodePlace,
  type NodePlan,
  planCluster,
} from './plan.ts';
import { PAUSE_IMAGE, podProgram } from './pod-program.ts';

export interface ClusterOptions {
  readonly name: string;
  readonly nodes: readonly NodePlace[];
  /** archives that every node shall have, by a name for the progress */
  readonly images: ReadonlyMap<string, Uint8Array>;
  readonly say: (sentence: string) => void;
}

export interface RunningCluster {
  readonly plan: ClusterPlan;
  readonly folder: string;
  readonly kubectl: Kubectl;
  readonly machines: ReadonlyMap<string, Machine>;
  readonly daemons: readonly Daemon[];
}

const POLL_MS = 250;
const CONTAINERD_MS = 30_000;
const NODES_READY_MS = 120_000;
const SAY_EVERY_MS = 5_000;

export async function startCluster(options: ClusterOptions): Promise<RunningCluster> {
  const { name, say } = options;
  const programs = await kubernetesPrograms(programNames, say);
  const pause = await podProgram(say);
  const folder = clusterFolder(name);
  mkdirSync(join(folder, 'pki'), { recursive: true, mode: 0o700 });
  const plan = planCluster(name, options.nodes, await hostRoutes());
  await makeNetwork(plan, folder);
  const starting = new Starting({ plan, folder, programs, pause, say });
  say(`etcd, kube-apiserver and the images of ${plan.nodes.length} nodes`);
  const [kubectl] = await Promise.all([starting.controlPlane(), starting.nodes(options.images)]);
  say(`the API server answers, ${[...options.images.keys()].join(', ')} are on every node`);
  starting.controllers();
  for (const node of plan.nodes) starting.kubelet(node);
  const cluster = { plan, folder, kubectl, ...starting.started };
  await nodesReady(cluster, say);
  return cluster;
}

interface Parts {
  readonly plan: ClusterPlan;
  readonly folder: string;
  readonly programs: ReadonlyMap<ProgramName, string>;
  readonly pause: string;
  readonly say: (sentence: string) => void;
}

/** The steps of one start. */
class Starting {
  readonly #plan: ClusterPlan;
  readonly #folder: string;
  readonly #programs: ReadonlyMap<ProgramName, string>;
  readonly #pause: string;
  readonly #pki: Pki;
  readonly #machines = new Map<string, Machine>();
  readonly #daemons: Daemon[] = [];

  constructor({ plan, folder, programs, pause }: Parts) {
    this.#plan = plan;
    this.#folder = folder;
    this.#programs = programs;
    this.#pause = pause;
    const names = [plan.server.ipv4, KUBERNETES_SERVICE].map((address) => `IP:${address}`);
    this.#pki = new Pki(join(folder, 'pki'), names);
  }

  get started(): Pick<RunningCluster, 'machines' | 'daemons'> {
    return { machines: this.#machines, daemons: this.#daemons };
  }

  async controlPlane(): Promise<Kubectl> {
    const [plan, pki] = [this.#plan, this.#pki];
    const machine = await this.#machine('control-plane', plan.netns);
    const etcd = machine.start('etcd', 'etcd', etcdArgs('/var/lib/etcd'));
    const kubeletClient = pki.client('kube-apiserver', ['system:masters']);
    const args = apiServerArgs(plan, { pki, kubeletClient });
    const server = machine.start('kube-apiserver', this.#program('kube-apiserver'), args);
    this.#daemons.push(etcd, server);
    const admin = pki.client('admin', ['system:masters']);
    await apiReady({ url: apiUrl(plan), caFile: pki.caFile, client: admin }, [etcd, server]);
    const kubeconfig = this.#kubeconfig('kubeconfig', admin);
    return new Kubectl(this.#program('kubectl'), kubeconfig, this.#folder);
  }

  controllers(): void {
    const machine = this.#machines.get('control-plane');
    const start = (name: ProgramName, args: (kubeconfig: string) => readonly string[]) => {
      const kubeconfig = this.#kubeconfig(name, this.#pki.client(`system:${name}`, []));
      const daemon = machine?.start(name, this.#program(name), args(kubeconfig));
      if (daemon !== undefined) this.#daemons.push(daemon);
    };
    start('kube-controller-manager', (kubeconfig) => controllerManagerArgs(kubeconfig, this.#pki));
    start('kube-scheduler', schedulerArgs);
  }

  /** Machines with a containerd that has the images. */
  async nodes(images: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const files = [...images].map(([name, bytes]) => {
      const file = join(this.#folder, `${name}.tar`);
      writeFileSync(file, bytes);
      return file;
    });
    await Promise.all(this.#plan.nodes.map((node) => this.#containerd(node, files)));
  }

  async #containerd(node: NodePlan, images: readonly string[]): Promise<void> {
    makeGroups(clusterGroup(this.#plan.name, node.name));
    const machine = await this.#machine(node.name, node.netns, KUBELET_SYSCTLS);
    const cniFolder = join(machine.folder, 'cni');
    mkdirSync(cniFolder);
    writeFileSync(join(cniFolder, 'pods.conflist'), JSON.stringify(networkConfig(node)));
    const config = join(machine.folder, 'containerd.toml');
    writeFileSync(
      config,
      containerdConfig({ sandboxImage: `docker.io/${PAUSE_IMAGE}`, cniFolder }),
    );
    const daemon = machine.start('containerd', 'containerd', ['--config', config]);
    this.#daemons.push(daemon);
    await answers(machine, daemon);
    for (const file of images)
      await machine.run('ctr', ['--namespace', 'k8s.io', 'images', 'import', file]);
  }

  kubelet(node: NodePlan): void {
    const machine = this.#machines.get(node.name);
    if (machine === undefined) throw new Error(`there is no machine ${node.name}.`);
    const identity = this.#pki.client(`system:node:${node.name}`, ['system:nodes']);
    const kubeconfig = this.#kubeconfig(`kubelet-${node.name}`, identity);
    const config = join(machine.folder, 'kubelet.json');
    const group = clusterGroup(this.#plan.name, node.name);
    const files = { caFile: this.#pki.caFile, kubeconfig };
    writeFileSync(config, JSON.stringify(kubeletConfig(group, files)));
    const proxyFile = join(machine.folder, 'kube-proxy.json');
    const proxyAccess = this.#kubeconfig(
      `kube-proxy-${node.name}`,
      this.#pki.client('system:kube-proxy', []),
    );
    writeFileSync(proxyFile, JSON.stringify(proxyConfig(node, proxyAccess)));
    this.#daemons.push(
      machine.start('kubelet', this.#program('kubelet'), kubeletArgs(node, config, kubeconfig)),
      machine.start('kube-proxy', this.#program('kube-proxy'), [`--config=${proxyFile}`]),
    );
  }

  async #machine(
    name: string,
    netns: string,
    sysctls: Readonly<Record<string, string>> = {},
  ): Promise<Machine> {
    const folder = join(this.#folder, name);
    const machine = await startMachine({ name, netns, folder, pause: this.#pause, sysctls });
    this.#machines.set(name, machine);
    return machine;
  }

  #program(name: ProgramName): string {
    const path = this.#programs.get(name);
    if (path === undefined) throw new Error(`${name} cannot be had.`);
    return path;
  }

  #kubeconfig(name: string, client: KeyPair): string {
    const file = join(this.#folder, name === 'kubeconfig' ? name : `${name}.kubeconfig`);
    return writeKubeconfig(file, {
      server: apiUrl(this.#plan),
      ca: this.#pki.ca,
      credentials: certificateOf(client),
    });
  }
}

async function answers(machine: Machine, daemon: Daemon): Promise<void> {
  const started = performance.now();
  for (;;) {
    daemon.check();
    try {
      // the server's version, once its plugins are there; `plugins` would not tell of a CRI that is still loading
      await machine.run('ctr', ['--namespace', 'k8s.io', 'images', 'list', '--quiet']);
      return;
    } catch (error) {
      if (performance.now() - started > CONTAINERD_MS) throw error;
    }
    await delay(POLL_MS);
  }
}

async function nodesReady(cluster: RunningCluster, say: (sentence: string) => void): Promise<void> {
  const started = performance.now();
  const wanted = cluster.plan.nodes.length;
  let said = 0;
  for (;;) {
    for (const daemon of cluster.daemons) daemon.check();
    const ready = await readyNodes(cluster.kubectl);
    if (ready.length === wanted) return;
    const elapsed = performance.now() - started;
    if (elapsed > NODES_READY_MS)
      throw new Error(`${ready.length} of ${wanted} nodes are Ready; look at ${cluster.folder}.`);
    if (elapsed - said > SAY_EVERY_MS) {
      said = elapsed;
      say(`${ready.length} of ${wanted} nodes are Ready`);
    }
    await delay(POLL_MS);
  }
}

export async function readyNodes(kubectl: Kubectl): Promise<readonly string[]> {
  const path =
    '{range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}';
  const text = await kubectl.run('get', 'nodes', '-o', `jsonpath=${path}`);
  return text.split('\n').flatMap((line) => (line.endsWith('=True') ? [line.slice(0, -5)] : []));
}
