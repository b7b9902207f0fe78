/**
 * `make cluster`: the control plane of the cluster tests for a person to play with: etcd and kube-apiserver on loopback in the background, Herald's
 * kinds and three Nodes in it. There are no kubelets: nothing runs in it, but Services, pools, claims and the programs of this
 * repository behave as they would. `--servers=N` has several servers on the one etcd, `--proxy` the failing proxy of the tests in front, told by
 * curl. `--down` ends it and removes its files. Starting what runs already says where it is.
 */

import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Cluster, startCluster } from '../test/cluster/support/cluster.ts';
import { field, items, optionalNumber, parseJson, text } from '../test/interop/routers/json.ts';
import { CLUSTER_HELP, type ClusterWish, readClusterOptions } from './cluster/options.ts';
import { endAll, isAlive, processesIn, processOf, type Started } from './cluster/processes.ts';
import { PROXY_KUBECONFIG, PROXY_SOCKET, startLastingProxy } from './cluster/proxy-files.ts';
import { ensureKubectl } from './kubernetes/kubectl.ts';
import { kubernetesVersion } from './kubernetes/version.ts';

const NODES = ['worker-1', 'worker-2', 'worker-3'];
const DEPLOY = join(import.meta.dirname, '../deploy');

interface State {
  /** of each server */
  readonly kubeconfigs: readonly string[];
  readonly hasProxy: boolean;
  readonly processes: readonly Started[];
}

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = readClusterOptions(args);
  if (options.kind === 'wrong') {
    process.stderr.write(`cluster: ${options.sentence}\n`);
    return 2;
  }
  if (options.kind === 'help') {
    say(CLUSTER_HELP.trimEnd());
    return 0;
  }
  const folder = stateFolder();
  if (options.kind === 'down') return await down(folder);
  const missing = ['etcd', 'openssl'].filter((program) => !isInstalled(program));
  if (missing.length > 0) {
    const remedy = 'tools/setup.sh --packages installs it, as root';
    process.stderr.write(`cluster: ${missing.join(' and ')} cannot be found; ${remedy}.\n`);
    return 1;
  }
  const added = await ensureKubectl((line) => say(`  ${line}`));
  if (added !== undefined)
    say(`There is no kubectl on your PATH; one was built:\n\n  export PATH="$PATH:${added}"\n`);
  const state = readState(folder);
  if (state?.processes.every(isAlive) === true) return goOn(state, options, folder);
  // what a reboot, a crash or a start that was broken off left is of no use
  await endAll(processesIn(folder));
  await up(folder, options);
  return 0;
}

function goOn(state: State, { servers, proxy }: ClusterWish, folder: string): number {
  const count = state.kubeconfigs.length;
  if ((servers ?? count) !== count || (proxy ?? state.hasProxy) !== state.hasProxy) {
    const shape = `${count} ${count === 1 ? 'server' : 'servers'} and ${state.hasProxy ? 'a' : 'no'} proxy`;
    process.stderr.write(`cluster: one runs already, with ${shape}: make cluster-down ends it.\n`);
    return 1;
  }
  say('The cluster runs already.');
  tellNext(state, folder);
  return 0;
}

function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$0"', program]).status === 0;
}

/** One per user, under a folder that goes with the session where there is one. */
function stateFolder(): string {
  const { XDG_RUNTIME_DIR: runtime = '' } = process.env;
  return join(runtime === '' ? '/tmp' : runtime, `herald-cluster-${userInfo().uid}`);
}

async function up(folder: string, { servers = 1, proxy }: ClusterWish): Promise<void> {
  claimFolder(folder);
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
  say(`Starting etcd and kube-apiserver ${kubernetesVersion} …`);
  const timer = setInterval(() => say(`  … ${seconds()} s`), 5_000);
  try {
    const cluster = await startCluster({
      ...{ folder, servers, outlives: true },
      say: (line) => say(`  ${line}`),
    });
    const others = cluster.servers.slice(1).map((_, index) => cluster.adminKubeconfig(index + 1));
    const state = stateOf(cluster, [cluster.kubeconfig, ...others]);
    writeState(folder, state);
    say(`  they answer after ${seconds()} s`);
    await applyAsPeople(cluster);
    await cluster.installCrds();
    say(`  Herald's kinds are served after ${seconds()} s`);
    for (const name of NODES) await cluster.addNode(name);
    say(`  Nodes ${NODES.join(', ')}`);
    if (proxy !== true) {
      tellNext(state, folder);
      return;
    }
    const { pid } = await startLastingProxy(cluster, folder);
    const processes = [...state.processes, processOf('proxy', pid)];
    const whole = { ...state, hasProxy: true, processes };
    writeState(folder, whole);
    tellNext(whole, folder);
  } finally {
    clearInterval(timer);
  }
}

/** By kubectl, so that the `kubectl apply -k deploy/base` of whoever uses it finds what it expects and warns of nothing. */
async function applyAsPeople(cluster: Cluster): Promise<void> {
  await cluster.kubectl(['apply', '-f', join(DEPLOY, 'base/namespace.yaml')]);
  await cluster.kubectl(['apply', '-k', join(DEPLOY, 'crds')]);
}

/** Ours alone, since keys are kept in it: a folder that another user put there is refused. */
function claimFolder(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found !== undefined && (!found.isDirectory() || found.uid !== userInfo().uid)) {
    throw new Error(`${folder} belongs to somebody else; remove it, or set XDG_RUNTIME_DIR.`);
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
}

function tellNext({ kubeconfigs, hasProxy }: State, folder: string): void {
  const [first = '', ...others] = kubeconfigs;
  say(`
  export KUBECONFIG=${hasProxy ? join(folder, PROXY_KUBECONFIG) : first}

Then, for example:
  kubectl get nodes,ippools,ipclaims,ipnodes,bgppeers
  src/cli/herald controller &
  kubectl apply -f deploy/examples/nginx.yaml
  kubectl get services -A -w
`);
  if (others.length > 0) say(`The other servers of the same etcd:\n  ${others.join('\n  ')}\n`);
  if (hasProxy) tellProxy(join(folder, PROXY_SOCKET), first);
  say(`Nothing runs on the Nodes: there are no kubelets. Logs and the audit log are in
${folder}
\`make cluster-down\` ends it.`);
}

function tellProxy(socket: string, direct: string): void {
  const curl = `curl -s --unix-socket ${socket}`;
  say(`That KUBECONFIG goes through a proxy that fails when it is told to; ${direct} does not.
  # the next two claims that are created meet a conflict (test/cluster/support/proxy-rules.ts has all faults)
  ${curl} http://proxy/rules -d '{"match": {"verb": "create", "resource": "ipclaims"}, "fault": {"kind": "status", "code": 409, "reason": "Conflict"}, "times": 2}'
  # every watch falls silent, and its connection stays
  ${curl} http://proxy/rules -d '{"match": {"verb": "watch"}, "fault": {"kind": "half-open"}}'
  ${curl} http://proxy/                   # rules and how often they met, requests by client
  ${curl} -X DELETE http://proxy/rules    # no more faults
  ${curl} -X POST http://proxy/refuse     # nobody gets in; accept: again; cut: every connection breaks
`);
}

async function down(folder: string): Promise<number> {
  const left = processesIn(folder);
  if (left.length === 0 && readState(folder) === undefined) {
    say(`No cluster runs (nothing in ${folder}).`);
    return 0;
  }
  await endAll(left);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  say('The cluster is gone.');
  return 0;
}

const stateFile = (folder: string): string => join(folder, 'state.json');

function stateOf({ etcd, servers }: Cluster, kubeconfigs: readonly string[]): State {
  const processes = [
    processOf('etcd', etcd.pid),
    ...servers.map(({ pid }) => processOf('kube-apiserver', pid)),
  ];
  return { kubeconfigs, hasProxy: false, processes };
}

function writeState(folder: string, state: State): void {
  writeFileSync(stateFile(folder), JSON.stringify(state));
}

function readState(folder: string): State | undefined {
  try {
    const state = parseJson(readFileSync(stateFile(folder), 'utf8'));
    const processes = items(field(state, 'processes')).map((each) => ({
      name: text(field(each, 'name')),
      pid: optionalNumber(field(each, 'pid')) ?? -1,
      startTicks: text(field(each, 'startTicks')),
    }));
    const kubeconfigs = items(field(state, 'kubeconfigs')).map(text);
    return { kubeconfigs, hasProxy: field(state, 'hasProxy') === true, processes };
  } catch {
    return undefined;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`cluster: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
// connections that are kept alive must not keep this process
process.exit();
