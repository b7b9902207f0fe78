/** The main thread of this process as a TurnWatch sees it. */

import type { TurnWorld } from '../turns/turn-watch.ts';

export const turnWorld: TurnWorld = {
  now: () => performance.now(),
  idleMs: () => performance.eventLoopUtilization().idle,
  cpuMs: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
  every: (periodMs, work) => {
    const timer = setInterval(work, periodMs).unref();
    return () => clearInterval(timer);
  },
};
