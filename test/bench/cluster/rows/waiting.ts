/** Thousands of Services wait when the balancer starts. */

import { nowMs } from '../../../../tools/probe/monotonic.ts';
import { memoryOf } from '../memory.ts';
import { count, megabytes, type Row, seconds, verdictOf } from '../report.ts';
import { createServices, createSlices, names } from '../services.ts';
import type { Stage } from '../stage.ts';
import { cpuText, lastStatus, usedCpu } from './burst.ts';

const LIMIT = { routesMs: 30_000, statusesMs: 60_000 };
const PATIENCE_MS = 600_000;
const CLIENTS = 16;

export async function measureWaiting(stage: Stage): Promise<readonly Row[]> {
  const { options, say } = stage;
  const size = options.sizes.waiting;
  const services = names('waiting', size);
  say(`waiting: ${size} Services are made`);
  await createSlices(stage, services);
  await createServices(stage, services, { clients: CLIENTS });
  const balancer = stage.balancer();
  say('waiting: the balancer starts');
  const { servers } = stage.cluster.cpuSeconds();
  const startedAt = nowMs();
  await balancer.start();
  const tell = (found: number) =>
    say(`waiting: ${found} routes, ${stage.feed.served.size} statuses`);
  const moment = await stage.routes.all(size, PATIENCE_MS, tell);
  const statusAt = await lastStatus(stage, size);
  const used = await usedCpu(stage, balancer);
  const cpu = new Map([...used].filter(([role]) => role !== 'etcd'));
  cpu.set('API server', (used.get('API server') ?? 0) - (servers[0] ?? 0));
  const memory = (await balancer.pids()).map(memoryOf);
  const routesMs = (moment.receivedMs ?? moment.birdMs) - startedAt;
  const statusesMs = statusAt - startedAt;
  const rss = memory.map(({ role, peakMb }) => `${role} ${megabytes(peakMb)}`).join(', ');
  return [
    {
      work: `balancer started with ${count(size)} Services waiting → all routes, all statuses`,
      anchor: '2,768 routes after 60 s, then none in the next 2 minutes; RSS 107 and 138 MB',
      target: `routes ≤ ${LIMIT.routesMs / 1000} s, statuses ≤ ${LIMIT.statusesMs / 1000} s`,
      measured: `routes ${seconds(routesMs)}, statuses ${seconds(statusesMs)}; peak RSS ${rss}; CPU ${cpuText(cpu)}`,
      verdict: verdictOf(routesMs <= LIMIT.routesMs && statusesMs <= LIMIT.statusesMs),
      samples: {
        routesMs,
        statusesMs,
        ...Object.fromEntries([...cpu].map(([role, spent]) => [`${role} CPU seconds`, spent])),
        ...Object.fromEntries(memory.map(({ role, peakMb }) => [`${role}PeakMb`, peakMb])),
      },
    },
  ];
}
