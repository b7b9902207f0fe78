/**
 * The processes of `make cluster`: known by what was written down when they ran, and, where a start was broken off before that (Ctrl-C, a terminal that closed), by
 * the folder that they were started with. A pid alone is nothing: it may have been given away again.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { statFields } from '../proc-stat.ts';

export interface Started {
  readonly name: string;
  readonly pid: number;
  /** of the process, so that a pid that was given away again is not taken for ours */
  readonly startTicks: string;
}

const GONE_WITHIN_MS = 10_000;
const SERVERS = ['etcd', 'kube-apiserver'];

export const processOf = (name: string, pid: number): Started => ({
  name,
  pid,
  startTicks: startTicks(pid) ?? '',
});

export function isAlive({ pid, startTicks: then }: Started): boolean {
  return pid > 0 && then !== '' && startTicks(pid) === then;
}

/** Servers that run with files of this folder, whoever started them. A person's own program that reads a kubeconfig there is none of them. */
export function processesIn(folder: string): readonly Started[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const name = serverOf(commandLine(pid), folder);
      return name === undefined ? [] : [processOf(name, Number(pid))];
    });
}

function serverOf(argv: readonly string[], folder: string): string | undefined {
  const [program = '', ...args] = argv;
  const name = basename(program);
  if (SERVERS.includes(name)) {
    return args.some((arg) => arg.includes(`${folder}/`)) ? name : undefined;
  }
  const isProxy = args.some((arg) => basename(arg) === 'proxy-main.ts') && args.includes(folder);
  return isProxy ? 'proxy' : undefined;
}

export async function endAll(processes: readonly Started[]): Promise<void> {
  const alive = processes.filter(isAlive);
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

function commandLine(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** When a process began, in clock ticks since boot; undefined when there is none, or only what its parent has not yet taken notice of. */
function startTicks(pid: number): string | undefined {
  try {
    const fields = statFields(`/proc/${pid}/stat`);
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
