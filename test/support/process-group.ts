/**
 * What the kernel says of a process group. A SIGSTOP is taken by one thread, which then stops the others: between kill(2) and
 * that moment a server with many threads goes on answering, so a test that counts on silence has to look.
 */

import { readdirSync } from 'node:fs';
import { statFields } from '../../tools/proc-stat.ts';

const PATIENCE_MS = 20_000;
const LOOK_EVERY_MS = 1;

/** Blocks (a test has nothing better to do) until every thread of every process of the group is stopped or dead. */
export function waitUntilStopped(group: number): void {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const states = threadStates(group);
    const moving = states.filter((state) => !'TtZX'.includes(state));
    // once the stop has begun, who sleeps in the kernel (D) stops on its way out: a parent that waits for its child to exec, an fsync
    const hasBegun = states.length > moving.length;
    if (moving.length === 0 || (hasBegun && moving.every((state) => state === 'D'))) return;
    if (performance.now() > deadline) {
      throw new Error(
        `group ${group} still runs ${PATIENCE_MS} ms after SIGSTOP: ${moving.join('')}`,
      );
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
  }
}

/** The letter of each thread of the group, as in proc_pid_stat(5): R runs, S sleeps, T stopped, Z dead. */
export function threadStates(group: number): string[] {
  return names('/proc')
    .filter((pid) => /^\d+$/.test(pid) && statOf(`/proc/${pid}/stat`)?.group === group)
    .flatMap((pid) => names(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}/stat`))
    .flatMap((path) => statOf(path)?.state ?? []);
}

/** A process may end between two looks: then there is nothing to read. */
function statOf(path: string): { readonly state: string; readonly group: number } | undefined {
  try {
    const [state = '', , group] = statFields(path);
    return { state, group: Number(group) };
  } catch {
    return undefined;
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
