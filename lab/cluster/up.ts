/**
 * Brings a real Kubernetes up on nodes that others have put into a network: control plane, then on each node containerd, kubelet and kube-proxy, all in
 * the background, to stay when this process has ended. down.ts takes it away again, by the name alone.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Pki } from '../../tools/cluster/pki.ts';
import { kubernetesPrograms } from '../../tools/kubernetes/assets.ts';
import { type ProgramName, programNames } from '../../tools/kubernetes/version.ts';
import { apiReady, Kubectl } from './api.ts';
import {
  apiServerArgs,
  apiUrl,
  controllerManagerArgs,
  etcdArgs,
  schedulerArgs,
} from './control-plane.ts';
import { makeFolder } from './folder.ts';
import { type Daemon, type Machine, startMachine } from './machine.ts';
import { hostRoutes, makeNetwork } from './network.ts';
import {
  bootNode,
  type ClusterContext,
  importImage,
  kubeconfigFor,
  programOf,
  startKubelet,
  writeNodeFiles,
} from './node.ts';
import { KUBERNETES_SERVICE, type NodePlace, planCluster } from './plan.ts';
import { podProgram } from './pod-program.ts';

export interface ClusterOptions {
  readonly name: string;
  readonly nodes: readonly NodePlace[];
  /** archives that every node shall have, by a name for the progress */
  readonly images: ReadonlyMap<string, string>;
  readonly say: (sentence: string) => void;
  /** breaks off between two steps; what is there by then stays for down.ts */
  readonly signal?: AbortSignal;
}

export interface RunningCluster {
  readonly context: ClusterContext;
  readonly kubectl: Kubectl;
}

export const PLAN_FILE = 'plan.json';
export const CONTROL_PLANE = 'control-plane';

const POLL_MS = 250;
const NODES_READY_MS = 120_000;
const SAY_EVERY_MS = 5_000;

export async function startCluster(options: ClusterOptions): Promise<RunningCluster> {
  const { name, say, images, signal } = options;
  const programs = await kubernetesPrograms(programNames, say);
  const pause = await podProgram(say);
  const folder = makeFolder(name);
  mkdirSync(join(folder, 'pki'), { mode: 0o700 });
  const plan = planCluster(name, options.nodes, await hostRoutes());
  writeFileSync(join(folder, PLAN_FILE), JSON.stringify(plan));
  await makeNetwork(plan, folder);
  const context = { plan, folder, programs, pause };
  const names = [plan.server.ipv4, KUBERNETES_SERVICE].map((address) => `IP:${address}`);
  const pki = new Pki(join(folder, 'pki'), names);
  say(`etcd, kube-apiserver and the images of ${plan.nodes.length} nodes`);
  const [{ machine, kubectl, servers }, ...nodes] = await allOrNone(
    startServers(context, pki),
    ...plan.nodes.map(async (node) => {
      writeNodeFiles(context, node, pki);
      const booted = await bootNode(context, node);
      for (const file of images.values()) {
        signal?.throwIfAborted();
        await importImage(booted.machine, file);
      }
      return { node, ...booted };
    }),
  );
  signal?.throwIfAborted();
  say(`the API server answers; ${[...images.keys()].join(', ')} are on every node`);
  const daemons = [
    ...servers,
    ...startControllers(context, pki, machine),
    ...nodes.flatMap(({ node, machine: on, containerd }) => [
      containerd,
      ...startKubelet(context, node, on),
    ]),
  ];
  await nodesReady({ kubectl, daemons, wanted: nodes.length, say, ...(signal ? { signal } : {}) });
  return { context, kubectl };
}

/** All of them, or the first failure when none of them is at work any more: what goes on in the background could not be taken away. */
async function allOrNone<First, Rest>(
  first: Promise<First>,
  ...rest: readonly Promise<Rest>[]
): Promise<[First, ...Rest[]]> {
  await Promise.allSettled([first, ...rest]);
  return [await first, ...(await Promise.all(rest))];
}

interface Servers {
  readonly machine: Machine;
  readonly kubectl: Kubectl;
  readonly servers: readonly Daemon[];
}

/** etcd and the API server, which answers. */
async function startServers(context: ClusterContext, pki: Pki): Promise<Servers> {
  const { plan, folder, pause } = context;
  const machine = await startMachine({
    ...{ name: CONTROL_PLANE, netns: plan.netns, pause },
    folder: join(folder, CONTROL_PLANE),
  });
  const etcd = machine.start('etcd', 'etcd', etcdArgs('/var/lib/etcd'));
  const kubeletClient = pki.client('kube-apiserver', ['system:masters']);
  const args = apiServerArgs(plan, { pki, kubeletClient });
  const server = machine.start('kube-apiserver', programOf(context, 'kube-apiserver'), args);
  const admin = pki.client('admin', ['system:masters']);
  const access = { url: apiUrl(plan), caFile: pki.caFile, client: admin };
  await apiReady(access, [etcd, server]);
  const kubeconfig = kubeconfigFor(context, pki, 'admin', admin);
  const kubectl = new Kubectl(programOf(context, 'kubectl'), kubeconfig, folder);
  return { machine, kubectl, servers: [etcd, server] };
}

function startControllers(context: ClusterContext, pki: Pki, machine: Machine): readonly Daemon[] {
  const start = (name: ProgramName, args: (kubeconfig: string) => readonly string[]) => {
    const kubeconfig = kubeconfigFor(context, pki, name, pki.client(`system:${name}`, []));
    return machine.keep(name, programOf(context, name), args(kubeconfig));
  };
  return [
    start('kube-controller-manager', (kubeconfig) => controllerManagerArgs(kubeconfig, pki)),
    start('kube-scheduler', schedulerArgs),
  ];
}

interface Waiting {
  readonly kubectl: Kubectl;
  /** one of them that ends is an error */
  readonly daemons: readonly Daemon[];
  readonly wanted: number;
  readonly say: (sentence: string) => void;
  readonly signal?: AbortSignal;
}

async function nodesReady({ kubectl, daemons, wanted, say, signal }: Waiting): Promise<void> {
  const started = performance.now();
  let said = 0;
  for (;;) {
    signal?.throwIfAborted();
    for (const daemon of daemons) daemon.check();
    const ready = await readyNodes(kubectl);
    if (ready.length === wanted) return;
    const elapsed = performance.now() - started;
    if (elapsed > NODES_READY_MS)
      throw new Error(`after ${NODES_READY_MS / 1000} s only ${ready.length} nodes are Ready.`);
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
