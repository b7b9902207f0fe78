/** What a long-running command tells of its own process in its metrics. */

import type { ProcessFacts } from '../telemetry/process-metrics.ts';
import type { TurnFacts } from '../turns/turn-watch.ts';

export function processFacts(
  role: ProcessFacts['role'],
  version: string,
  turns: TurnFacts,
): ProcessFacts {
  return {
    version,
    role,
    turns,
    startedMs: Date.now() - process.uptime() * 1000,
    cpuSeconds: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    residentBytes: () => process.memoryUsage.rss(),
  };
}
