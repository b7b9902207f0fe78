/** What the balancer's processes hold, and what the empty process beside them does. */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { BalancerProcess } from './balancer.ts';

export interface Memory {
  readonly role: string;
  readonly residentMb: number;
  readonly peakMb: number;
}

export function memoryOf({ role, pid }: BalancerProcess): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { role, residentMb: kilobytes('VmRSS') / 1024, peakMb: kilobytes('VmHWM') / 1024 };
}

/** The same Node with nothing to do. */
export async function floorMb(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  try {
    await delay(1000);
    return memoryOf({ role: 'floor', pid: child.pid ?? 0 }).residentMb;
  } finally {
    child.kill('SIGKILL');
  }
}
