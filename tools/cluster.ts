/**
 * `make cluster`: the control plane of the cluster tests for a person to play with: etcd and kube-apiserver on loopback in the background, Herald's
 * kinds and three Nodes in it. There are no kubelets: nothing runs in it, but Services, pools, claims and the programs of this
 * repository behave as they would. `--down` ends it and removes its files. Starting what runs already says where it is.
 */

import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, startCluster } from '../test/cluster/support/cluster.ts';
import { field, items, optionalNumber, parseJson, text } from '../test/interop/routers/json.ts';
import { ensureKubectl } from './kubernetes/kubectl.ts';
import { kubernetesVersion } from './kubernetes/version.ts';

const NODES = ['worker-1', 'worker-2', 'worker-3'];
const GONE_WITHIN_MS = 10_000;

interface Started {
  readonly name: string;
  readonly pid: number;
  /** of the process, so that a pid that was given away again is not taken for ours */
  readonly startTicks: string;
}

interface State {
  readonly kubeconfig: string;
  readonly processes: readonly Started[];
}

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => arg !== '--down');
  if (unknown !== undefined) {
    process.stderr.write(`cluster: ${unknown} is unknown; there is --down, and nothing else.\n`);
    return 2;
  }
  const folder = stateFolder();
  if (args.includes('--down')) return await down(folder);
  const added = await ensureKubectl((line) => say(`  ${line}`));
  if (added !== undefined)
    say(`There is no kubectl on your PATH; one was built:\n\n  export PATH="$PATH:${added}"\n`);
  const state = readState(folder);
  if (state?.processes.every(isAlive) === true) {
    say('The cluster runs already.');
    tellNext(state.kubeconfig, folder);
    return 0;
  }
  // what a reboot or a crash left is of no use
  await end(state);
  await up(folder);
  return 0;
}

/** One per user, under a folder that goes with the session where there is one. */
function stateFolder(): string {
  const { XDG_RUNTIME_DIR: runtime = '' } = process.env;
  return join(runtime === '' ? '/tmp' : runtime, `herald-cluster-${userInfo().uid}`);
}

async function up(folder: string): Promise<void> {
  claimFolder(folder);
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
  say(`Starting etcd and kube-apiserver ${kubernetesVersion} …`);
  const timer = setInterval(() => say(`  … ${seconds()} s`), 5_000);
  try {
    const cluster = await startCluster({ folder, outlives: true, say: (line) => say(`  ${line}`) });
    writeState(folder, cluster);
    say(`  they answer after ${seconds()} s`);
    await cluster.installCrds();
    say(`  Herald's kinds are served after ${seconds()} s`);
    for (const name of NODES) await cluster.addNode(name);
    say(`  Nodes ${NODES.join(', ')}`);
    tellNext(cluster.kubeconfig, folder);
  } finally {
    clearInterval(timer);
  }
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

function tellNext(kubeconfig: string, folder: string): void {
  say(`
  export KUBECONFIG=${kubeconfig}

Then, for example:
  kubectl get nodes,ippools,ipclaims,ipnodes,bgppeers
  src/cli/herald controller &
  kubectl apply -f deploy/examples/
  kubectl get services -A -w

Nothing runs on the Nodes: there are no kubelets. Logs and the audit log are in
${folder}
\`make cluster-down\` ends it.`);
}

async function down(folder: string): Promise<number> {
  const state = readState(folder);
  await end(state);
  if (state === undefined) {
    say(`No cluster runs (nothing in ${folder}).`);
    return 0;
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  say('The cluster is gone.');
  return 0;
}

async function end(state: State | undefined): Promise<void> {
  const alive = state?.processes.filter(isAlive) ?? [];
  for (const { pid } of alive) process.kill(pid, 'SIGKILL');
  const started = performance.now();
  while (alive.some(isAlive)) {
    if (performance.now() - started > GONE_WITHIN_MS) {
      const names = alive.filter(isAlive).map(({ name, pid }) => `${name} (${pid})`);
      throw new Error(`${names.join(', ')} cannot be ended.`);
    }
    await delay(20);
  }
}

const stateFile = (folder: string): string => join(folder, 'state.json');

function writeState(folder: string, { etcd, servers, kubeconfig }: Cluster): void {
  const processes = [
    { name: 'etcd', pid: etcd.pid },
    ...servers.map(({ pid }) => ({ name: 'kube-apiserver', pid })),
  ].map((each) => ({ ...each, startTicks: startTicks(each.pid) ?? '' }));
  writeFileSync(stateFile(folder), JSON.stringify({ kubeconfig, processes }));
}

function readState(folder: string): State | undefined {
  try {
    const state = parseJson(readFileSync(stateFile(folder), 'utf8'));
    const processes = items(field(state, 'processes')).map((each) => ({
      name: text(field(each, 'name')),
      pid: optionalNumber(field(each, 'pid')) ?? -1,
      startTicks: text(field(each, 'startTicks')),
    }));
    return { kubeconfig: text(field(state, 'kubeconfig')), processes };
  } catch {
    return undefined;
  }
}

function isAlive({ pid, startTicks: then }: Started): boolean {
  return pid > 0 && then !== '' && startTicks(pid) === then;
}

/** When a process began, in clock ticks since boot; undefined when there is none, or only what its parent has not yet taken notice of. */
function startTicks(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
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
