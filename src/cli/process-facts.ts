/** What a long-running command tells of its own process in its metrics. */

import type { ProcessFacts } from '../telemetry/process-metrics.ts';

export function processFacts(role: ProcessFacts['role'], version: string): ProcessFacts {
  return {
    version,
    role,
    startedMs: Date.now() - process.uptime() * 1000,
    cpuSeconds: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    residentBytes: () => process.memoryUsage.rss(),
  };
}
