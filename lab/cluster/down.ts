/**
 * Takes a cluster away, whole or half started: what belongs to it is known by its name and its folder, and by nothing that could have been lost. Machines
 * first, since their processes hold everything else.
 */

import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { removeGroups, takeBack } from './cgroups.ts';
import { readChanged } from './changed-controllers.ts';
import { clusterFolder, hasFolder } from './folder.ts';
import { isAlive, machineProcesses, startersOn } from './machine.ts';
import { removeNetwork } from './network.ts';
import { controlNamespace, hostInterface } from './plan.ts';

const GONE_WITHIN_MS = 20_000;
const POLL_MS = 50;

/** The control group of a cluster, or of one of its nodes. */
export const clusterGroup = (name: string, node = ''): string =>
  node === '' ? `/herald-lab-${name}` : `/herald-lab-${name}/${node}`;

/** Whether one of its machines has power. */
export const isRunning = (name: string): boolean => processesOf(name).length > 0;

/** Whether something of it is there. */
export function isThere(name: string): boolean {
  return hasFolder(name) || isRunning(name);
}

export async function stopCluster(name: string, say: (sentence: string) => void): Promise<void> {
  const folder = clusterFolder(name);
  const machines = processesOf(name);
  if (machines.length > 0) say('switching the machines of the cluster off');
  // one that was stopped together with its program would never take note of its end, and hold the machine
  const starters = startersOn(machines);
  for (const pid of starters) kill(pid);
  const started = performance.now();
  for (;;) {
    // again and again: a machine that was just being started has another first process by now
    const first = processesOf(name);
    for (const pid of first) kill(pid);
    const left = [...first, ...starters.filter(isAlive)];
    if (left.length === 0) break;
    if (performance.now() - started > GONE_WITHIN_MS)
      throw new Error(`processes of ${folder} cannot be ended: ${left.join(', ')}.`);
    await delay(POLL_MS);
  }
  await removeGroups(clusterGroup(name));
  if (hasFolder(name)) takeBack(readChanged(folder));
  await removeNetwork(controlNamespace(name), hostInterface(name));
  if (hasFolder(name)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

const processesOf = (name: string): readonly number[] =>
  machineProcesses((folder) => dirname(folder) === clusterFolder(name));

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it ended between being listed and being killed
  }
}
