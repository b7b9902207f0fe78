/**
 * Takes a lab away, whatever state it is in: after a complete `up`, a broken-off one or a crash. Everything of a lab runs in its
 * network namespaces, and those are found by their names; mounts are private to the processes and go with them.
 */

import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { leftOvers } from './left-overs.ts';
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
  for (const namespace of namespaces) await endProcesses(namespace);
  for (const namespace of namespaces) {
    await run(['ip', 'netns', 'delete', namespace], { anyStatus: true });
  }
  removeState(lab);
  if (namespaces.length > 0) say(`removed ${namespaces.length} namespaces and what ran in them`);
  return leftOvers(lab);
}

/** Kills until nobody is there: a process may have started another between being listed and being killed. */
async function endProcesses(namespace: string): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const { stdout } = await run(['ip', 'netns', 'pids', namespace], { anyStatus: true });
    const pids = stdout.split('\n').filter((line) => /^\d+$/.test(line));
    if (pids.length === 0 || performance.now() > deadline) return;
    for (const pid of pids) kill(Number(pid));
    await delay(20);
  }
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
