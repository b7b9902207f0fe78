/**
 * Brings a topology up as plan.ts says: namespaces, links, containers, then the commands of the file, in the order that containerlab
 * has. Whatever goes wrong, or a signal in the middle, takes everything away again before the error is told.
 */

import { existsSync } from 'node:fs';
import { enter, isRunning, lastLines, startContainer } from './container.ts';
import { tearDown } from './down.ts';
import { checkout } from './images.ts';
import { type Output, type RunOptions, run } from './machine.ts';
import { type Plan, type PlannedNamespace, plan } from './plan.ts';
import type { TopologyFile } from './read.ts';
import { LabRefusal } from './refusal.ts';
import {
  createState,
  type LabState,
  logFile,
  readState,
  type StartedContainer,
  writeState,
} from './state.ts';
import { undoAndThrow } from './undo.ts';

export interface BringUpOptions {
  /** Name of the lab; labs of different names do not touch each other. */
  readonly name: string;
  /** Told of every step. */
  readonly say: (line: string) => void;
  /** Nodes of which only the network is made: their programs are somebody else's. */
  readonly withoutPrograms?: ReadonlySet<string>;
  /** Breaks off, and takes away what is there by then. */
  readonly signal?: AbortSignal;
}

export interface RunningNode {
  readonly name: string;
  /** Name of its network namespace, in /run/netns; a node in another's network has the other's. */
  readonly namespace: string;
  /** Addresses with length of its interfaces, link-local ones and loopback left out. */
  readonly addresses: readonly string[];
  /** First process of its container; absent where only the network was made. */
  readonly pid?: number;
  readonly log: string;
}

export interface RunningLab {
  readonly name: string;
  readonly nodes: ReadonlyMap<string, RunningNode>;
  /** Runs something in a node: in its container or, where only the network was made, in its network. */
  exec(node: string, argv: readonly string[], options?: RunOptions): Promise<Output>;
  /** Takes everything away; throws when something is left. */
  down(): Promise<void>;
}

export async function bringUp(
  topology: TopologyFile,
  options: BringUpOptions,
): Promise<RunningLab> {
  const { name, say, signal } = options;
  if (process.getuid?.() !== 0) throw new LabRefusal('network namespaces need root');
  const planned = plan(topology, { ...options, folder: topology.folder, checkout });
  checkNeeds(planned);
  const state = {
    name,
    topology: topology.path,
    since: new Date().toISOString(),
    startedBy: process.pid,
    containers: [],
  };
  if (!createState(state)) throw new LabRefusal(alreadyThere(name));
  try {
    const containers = await carryOut(planned, options);
    const { startedBy: _, ...finished } = { ...state, containers };
    writeState(finished);
    signal?.throwIfAborted();
    return await runningLab(planned, finished);
  } catch (error) {
    say('taking away what was there so far');
    return undoAndThrow(error, () => takeAway(name));
  }
}

async function carryOut(planned: Plan, options: BringUpOptions): Promise<StartedContainer[]> {
  const { name, say, signal } = options;
  say(`${planned.namespaces.length} network namespaces, ${planned.links.length} links`);
  for (const namespace of planned.namespaces) {
    signal?.throwIfAborted();
    await addNamespace(namespace);
  }
  for (const { a, b } of planned.links) {
    signal?.throwIfAborted();
    const peer = ['peer', 'name', b.interface, 'netns', b.namespace];
    await run([
      'ip',
      'link',
      'add',
      'name',
      a.interface,
      'netns',
      a.namespace,
      'type',
      'veth',
      ...peer,
    ]);
    for (const end of [a, b])
      await run(['ip', '-n', end.namespace, 'link', 'set', end.interface, 'up']);
  }
  signal?.throwIfAborted();
  say(`${planned.containers.length} containers`);
  const starts = await Promise.allSettled(
    planned.containers.map((each) => startContainer(name, each)),
  );
  const containers = starts.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
  say(`${planned.commands.length} commands of the file`);
  const byNode = new Map(containers.map((each) => [each.node, each]));
  for (const command of planned.commands) {
    signal?.throwIfAborted();
    const container = byNode.get(command.node);
    const { status, stderr } = await enter(command, container, { anyStatus: true });
    if (status === 0) continue;
    throw new LabRefusal(
      `${command.node}: ${command.argv.join(' ')}: exit ${status}: ${stderr.trim()}`,
    );
  }
  const dead = containers.find((each) => !isRunning(each));
  if (dead === undefined) return containers;
  throw new LabRefusal(`${dead.node} ended again: ${lastLines(logFile(name, dead.node))}`);
}

async function addNamespace({ namespace, sysctls }: PlannedNamespace): Promise<void> {
  await run(['ip', 'netns', 'add', namespace]);
  await run(['ip', '-n', namespace, 'link', 'set', 'lo', 'up']);
  // as containerlab sets it for every node
  const settings = ['net.ipv6.conf.all.disable_ipv6=0', ...sysctls];
  await enter({ namespace, argv: ['sysctl', '-q', '-w', ...settings] }, undefined);
}

function checkNeeds(planned: Plan): void {
  for (const { node, needs } of planned.containers) {
    const missing = needs.find(({ file }) => !existsSync(file));
    if (missing === undefined) continue;
    throw new LabRefusal(`${node} needs ${missing.file}, which is not there: ${missing.remedy}`);
  }
}

function alreadyThere(name: string): string {
  const state = readState(name);
  const remedy = `take it away first: \`lab/runner/lab down --name ${name}\`, or \`make lab-down\``;
  if (state === undefined) return `something is left of a lab named ${name}; ${remedy}`;
  if (state.startedBy === undefined) return `the lab ${name} is up since ${state.since}; ${remedy}`;
  const isStarting = existsSync(`/proc/${state.startedBy}`);
  return isStarting
    ? `process ${state.startedBy} is bringing up the lab ${name} just now`
    : `the lab ${name} was never brought up completely (${state.since}); ${remedy}`;
}

async function runningLab(planned: Plan, state: LabState): Promise<RunningLab> {
  const { name } = state;
  const nodes = new Map<string, RunningNode>();
  const containers = new Map(state.containers.map((each) => [each.node, each]));
  for (const { node, namespace } of [...planned.namespaces, ...planned.containers]) {
    if (nodes.has(node)) continue;
    const pid = containers.get(node)?.pid;
    nodes.set(node, {
      name: node,
      namespace,
      addresses: await addressesIn(namespace),
      ...(pid === undefined ? {} : { pid }),
      log: logFile(name, node),
    });
  }
  return {
    name,
    nodes,
    exec: async (node, argv, options) => {
      const found = nodes.get(node);
      if (found === undefined) throw new LabRefusal(`there is no node ${node}`);
      return enter({ namespace: found.namespace, argv }, containers.get(node), options);
    },
    down: () => takeAway(name),
  };
}

async function takeAway(name: string): Promise<void> {
  const left = await tearDown(name);
  if (left.length > 0) throw new Error(`left behind: ${left.join('; ')}`);
}

export async function addressesIn(namespace: string): Promise<string[]> {
  const { stdout } = await run(['ip', '-n', namespace, '-o', 'address', 'show', 'scope', 'global']);
  return [...stdout.matchAll(/^\d+: (?!lo )\S+ +inet6? (\S+)/gm)].map((match) => match[1] ?? '');
}
