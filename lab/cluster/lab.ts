/**
 * The whole lab with a real cluster: the network of lab/topology.clab.yml with its routers and its client, Kubernetes on its nodes, and Herald in it, from
 * deploy/ as a user installs it. Everything stays when this process ends; `lab.ts` of the same name finds it again by that name.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NAMESPACE } from '../../src/model/names.ts';
import { kubernetesPrograms } from '../../tools/kubernetes/assets.ts';
import { cacheFolder, programNames } from '../../tools/kubernetes/version.ts';
import { namespacesOf, tearDown } from '../runner/down.ts';
import { namespacePrefix } from '../runner/plan.ts';
import { readTopology } from '../runner/read.ts';
import { readState } from '../runner/state.ts';
import { undoAndThrow } from '../runner/undo.ts';
import { bringUp, type RunningLab } from '../runner/up.ts';
import { Kubectl } from './api.ts';
import { hierarchies } from './cgroups.ts';
import { clusterGroup, isRunning, isThere, stopCluster } from './down.ts';
import { clusterFolder, hasFolder, refuseForeignFolder } from './folder.ts';
import { heraldImage, heraldImageFile } from './herald-image.ts';
import { clusterPlaces } from './places.ts';
import { hostInterface } from './plan.ts';
import { podImages, podProgram, podProgramFile } from './pod-program.ts';
import { startCluster } from './up.ts';

export type Say = (sentence: string) => void;

export const LAB_NAME = 'cluster';
const root = join(import.meta.dirname, '../..');
export const DEPLOY_FOLDER = join(root, 'deploy/base');
const topologyFile = join(root, 'lab/topology.clab.yml');
const ROLL_OUT = '--timeout=120s';

export interface ClusterLab {
  readonly name: string;
  readonly folder: string;
  readonly kubectl: Kubectl;
  readonly network: RunningLab;
}

/** Why there can be no cluster on this machine, one sentence for each reason; an empty list means that there can. */
export function whyNoCluster(): readonly string[] {
  const packages: Readonly<Record<string, string>> = {
    etcd: 'etcd-server',
    containerd: 'containerd',
    runc: 'runc',
    openssl: 'openssl',
    nft: 'nftables',
    conntrack: 'conntrack',
    ip: 'iproute2',
    nsenter: 'util-linux',
    flock: 'util-linux',
  };
  const missing = Object.entries(packages)
    .filter(([program]) => spawnSync('sh', ['-c', 'command -v "$0"', program]).status !== 0)
    .map(([program, name]) => `${program}: not installed (Debian: ${name}); run \`make setup\`.`);
  if (!existsSync('/usr/lib/cni/ptp'))
    missing.push(
      '/usr/lib/cni/ptp: not there (Debian: containernetworking-plugins); run `make setup`.',
    );
  if (process.getuid?.() !== 0) missing.push('root: namespaces and containers need it.');
  return missing;
}

/** Whether a start has nothing to build: from then on it shall take three minutes at most. */
export function isBuilt(): boolean {
  const { KUBEBUILDER_ASSETS: assets = '' } = process.env;
  const folder = assets === '' ? cacheFolder() : assets;
  const files = [podProgramFile(), heraldImageFile()];
  return [...files, ...programNames.map((name) => join(folder, name))].every((each) =>
    existsSync(each),
  );
}

/** Brings everything up; when something goes wrong, takes away what was there and throws. */
export async function bringUpLab(
  name: string,
  say: Say,
  signal?: AbortSignal,
): Promise<ClusterLab> {
  const missing = whyNoCluster();
  if (missing.length > 0) throw new Error(`there can be no cluster: ${missing.join(' ')}`);
  if (isRunning(name)) throw new Error(`the lab ${name} is up, or on its way; take it down first.`);
  refuseForeignFolder(name);
  // files of a lab that went with the power of this machine
  if (isThere(name) && readState(name) === undefined) await takeDownLab(name, say);
  const parts = { name, say, ...(signal === undefined ? {} : { signal }) };
  const program = await podProgram(say);
  const image = await heraldImage(say);
  const topology = readTopology(topologyFile, process.env);
  const { nodes, withoutPrograms } = clusterPlaces(
    topology,
    (node) => `${namespacePrefix(name)}${node}`,
  );
  say('the network: routers, nodes and a client');
  // it cleans up after itself, and when it refuses there is a lab of that name that is not ours to take away
  const network = await bringUp(topology, { ...parts, withoutPrograms });
  try {
    const images = new Map([...podImages(program), ['herald', image]]);
    const { kubectl, context } = await startCluster({ ...parts, nodes, images });
    say(`${nodes.length} nodes are Ready; installing Herald: kubectl apply -k deploy/base`);
    await installHerald(kubectl, DEPLOY_FOLDER, signal);
    return { name, folder: context.folder, kubectl, network };
  } catch (error) {
    say('taking away what was there so far');
    return undoAndThrow(error, () => takeDownLab(name, () => undefined));
  }
}

/** As docs/kubernetes.md says, word for word. */
export async function installHerald(
  kubectl: Kubectl,
  deployFolder: string,
  signal?: AbortSignal,
): Promise<void> {
  await kubectl.runUntil(signal, 'apply', '-k', deployFolder);
  await kubectl.runUntil(signal, 'apply', '-f', join(root, 'lab/cluster/deploy/network.yaml'));
  // an overlay has other workloads than deploy/base
  const inside = ['-n', NAMESPACE];
  const found = await kubectl.runUntil(
    signal,
    ...inside,
    'get',
    'daemonsets,deployments',
    '-o',
    'name',
  );
  for (const what of found.split('\n').filter((line) => line !== ''))
    await kubectl.runUntil(signal, ...inside, 'rollout', 'status', what, ROLL_OUT);
}

/** kubectl for a lab that is up, whoever has brought it up; undefined where none is. */
export async function kubectlOf(name: string, say: Say): Promise<Kubectl | undefined> {
  const folder = clusterFolder(name);
  const kubeconfig = join(folder, 'admin.kubeconfig');
  if (!hasFolder(name) || !existsSync(kubeconfig) || !isRunning(name)) return undefined;
  const program = (await kubernetesPrograms(['kubectl'], say)).get('kubectl') ?? 'kubectl';
  return new Kubectl(program, kubeconfig, folder);
}

/** Takes everything away, whatever state it is in; throws when something is left. */
export async function takeDownLab(name: string, say: Say): Promise<void> {
  await stopCluster(name, say);
  const left = [...(await tearDown(name, say)), ...leftOvers(name)];
  if (left.length > 0) throw new Error(`left behind: ${left.join('; ')}`);
}

/** What of the cluster is still on this machine, one sentence each. */
export function leftOvers(name: string): readonly string[] {
  const folder = clusterFolder(name);
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(`${folder}/`));
  const wire = `/sys/class/net/${hostInterface(name)}`;
  const groups = hierarchies().map((each) => join(each, clusterGroup(name)));
  return [
    ...(isThere(name) ? [`the folder ${folder} or a process of it`] : []),
    ...namespacesOf(name).map((each) => `namespace ${each}`),
    ...(existsSync(wire) ? [`interface ${wire}`] : []),
    ...groups.filter((each) => existsSync(each)).map((each) => `control group ${each}`),
    ...mounts.map((each) => `mount ${each}`),
  ];
}
