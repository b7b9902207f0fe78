/**
 * Loaded into the agent before it starts (NODE_OPTIONS=--import), so that every release is measured by the same hand: a timer each 5 ms writes
 * down when it came late, and what the main thread had of a CPU since the last time. A line each: `WALL_MS BUSY_MS CPU_MS`. It knows nothing of
 * the agent's own measure (src/turns), which is held against it.
 */

import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const PERIOD_MS = 5;
const WORTH_MS = 20;
const file = process.env['HERALD_BENCH_TURNS'];

if (file !== undefined && isMainThread && process.argv[2] === 'agent') {
  let lastMs = performance.now();
  let lastCpu = cpuMs();
  setInterval(() => {
    const nowMs = performance.now();
    const cpu = cpuMs();
    const tookMs = nowMs - lastMs;
    if (tookMs >= WORTH_MS) {
      const line = `${Date.now()} ${tookMs.toFixed(1)} ${(cpu - lastCpu).toFixed(1)}\n`;
      appendFileSync(file, line);
    }
    lastMs = performance.now();
    lastCpu = cpuMs();
  }, PERIOD_MS).unref();
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
