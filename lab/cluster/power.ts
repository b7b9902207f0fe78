/**
 * What can be done to the machines of a cluster that is up, whoever has brought it up: a program run on one, an image given to all, the power taken
 * from a node and given back. A node without power says nothing to anybody; its disk stays. Its kernel is that of this machine, so the
 * boot id of its Node stays too.
 */

import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { kubernetesPrograms } from '../../tools/kubernetes/assets.ts';
import { run } from '../../tools/kubernetes/run.ts';
import { programNames } from '../../tools/kubernetes/version.ts';
import { removeGroups } from './cgroups.ts';
import { clusterGroup } from './down.ts';
import { clusterFolder, hasFolder } from './folder.ts';
import { Machine, machineProcesses, processesOnMachine } from './machine.ts';
import { bootNode, importImage, startKubelet } from './node.ts';
import type { ClusterPlan, NodePlan } from './plan.ts';
import { podProgram } from './pod-program.ts';
import { CONTROL_PLANE, PLAN_FILE } from './up.ts';

const OFF_WITHIN_MS = 20_000;
const COMMAND_MS = 30_000;
const POLL_MS = 20;
const SILENCE = [
  'add table inet no-power',
  ...['input', 'forward', 'output'].map(
    (hook) =>
      `add chain inet no-power ${hook} { type filter hook ${hook} priority -400; policy drop; }`,
  ),
].join('; ');

export class Machines {
  readonly #name: string;
  readonly #folder: string;
  readonly plan: ClusterPlan;

  /** Throws where no such cluster is up. */
  constructor(name: string) {
    this.#name = name;
    this.#folder = clusterFolder(name);
    const file = join(this.#folder, PLAN_FILE);
    if (!hasFolder(name) || !existsSync(file))
      throw new Error(`no lab ${name} with a cluster is up.`);
    this.plan = JSON.parse(readFileSync(file, 'utf8'));
  }

  /** A machine that has power. */
  on(machine: string): Machine {
    const folder = join(this.#folder, machine);
    const [pid] = machineProcesses((each) => each === folder).filter((each) => isFirst(each));
    if (pid === undefined) throw new Error(`${machine} has no power, or there is no such machine.`);
    return new Machine(machine, folder, pid);
  }

  /** The process of the API server, as this machine numbers it. */
  apiServer(): number {
    const pids = processesOnMachine(this.on(CONTROL_PLANE).pid);
    const found = pids.find((pid) => programName(pid) === 'kube-apiserver');
    if (found === undefined) throw new Error('the API server does not run.');
    return found;
  }

  async importImage(file: string): Promise<void> {
    await Promise.all(this.plan.nodes.map(({ name }) => importImage(this.on(name), file)));
  }

  /** At once and in silence: its kernel, which lives on, says goodbye to nobody. Links stay up, as those of a switch between would. */
  async switchOff(node: string): Promise<void> {
    await this.#inside(node, ['nft', SILENCE]);
    const { pid } = this.on(node);
    process.kill(pid, 'SIGKILL');
    const started = performance.now();
    while (existsSync(`/proc/${pid}`)) {
      if (performance.now() - started > OFF_WITHIN_MS)
        throw new Error(`the processes of ${node} cannot be ended.`);
      await delay(POLL_MS);
    }
    await removeGroups(clusterGroup(this.#name, node));
  }

  /** As after a boot; when the Node is Ready is for the API server to say. */
  async switchOn(node: string, say: (sentence: string) => void): Promise<void> {
    const plan = this.#node(node);
    // the silence, what kube-proxy wrote, and the connections that it led somewhere: a kernel that boots has no rules and remembers nobody
    await this.#inside(node, ['nft', 'flush ruleset']);
    await this.#inside(node, ['conntrack', '-F']);
    const programs = await kubernetesPrograms(programNames, say);
    const pause = await podProgram(say);
    const context = { plan: this.plan, folder: this.#folder, programs, pause };
    const { machine } = await bootNode(context, plan);
    startKubelet(context, plan, machine);
  }

  /** In the node's network, whether it has power or not. */
  async #inside(node: string, call: readonly string[]): Promise<void> {
    const enter = `--net=/run/netns/${this.#node(node).netns}`;
    await run('nsenter', [enter, ...call], { timeoutMs: COMMAND_MS });
  }

  #node(name: string): NodePlan {
    const found = this.plan.nodes.find((each) => each.name === name);
    if (found === undefined) throw new Error(`there is no node ${name}.`);
    return found;
  }
}

/** Whether it is the first process of its own numbering; what starts it has the same last word. */
function isFirst(pid: number): boolean {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return /^NSpid:\s+\d+\s+1$/m.test(status);
}

function programName(pid: number): string {
  try {
    return basename(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? '');
  } catch {
    return '';
  }
}
