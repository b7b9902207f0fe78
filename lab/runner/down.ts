/**
 * Takes a lab away, whatever state it is in: after a complete `up`, a broken-off one or a crash. Everything of a lab runs in its
 * network namespaces, which are found by their names, and carries its mark; mounts are private to the processes and go with them.
 */

import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { leftOvers, processesOf } from './left-overs.ts';
import { run } from './machine.ts';
import { namespacePrefix } from './plan.ts';
import { removeState } from './state.ts';

const patienceMs = 10_000;

/** Namespaces of a lab, by name. */
export function namespacesOf(lab: string): string[] {
  return listFolder('/run/netns').filter((name) => name.startsWith(namespacePrefix(lab)));
}

/** Removes everything of the lab of that name; what is left in spite of that is the answer, best nothing. */
export async function tearDown(
  lab: string,
  say: (line: string) => void = () => undefined,
): Promise<string[]> {
  const namespaces = namespacesOf(lab);
  await endProcesses(async () => [...(await processesIn(namespaces)), ...processesOf(lab)]);
  for (const namespace of namespaces) {
    await run(['ip', 'netns', 'delete', namespace], { anyStatus: true });
  }
  removeState(lab);
  if (namespaces.length > 0) say(`removed ${namespaces.length} namespaces and what ran in them`);
  return leftOvers(lab);
}

/** Kills until nobody is there: a process may have started another between being listed and being killed. */
async function endProcesses(list: () => Promise<string[]>): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const pids = await list();
    if (pids.length === 0 || performance.now() > deadline) return;
    for (const pid of pids) kill(Number(pid));
    await delay(20);
  }
}

/** Also those of a program that was only started in the network, and has no mark. */
async function processesIn(namespaces: readonly string[]): Promise<string[]> {
  const lists = namespaces.map((each) => run(['ip', 'netns', 'pids', each], { anyStatus: true }));
  const outputs = await Promise.all(lists);
  return outputs.flatMap(({ stdout }) => stdout.split('\n').filter((line) => /^\d+$/.test(line)));
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
