/** Many Services at once by several clients, and what the balancer holds after that. */

import { setTimeout as delay } from 'node:timers/promises';
import { cpuSeconds } from '../../../cluster/support/daemon.ts';
import { untilValue } from '../../../support/poll.ts';
import { apiWrites, between } from '../api-writes.ts';
import type { Balancer } from '../balancer.ts';
import { floorMb, type Memory, memoryOf } from '../memory.ts';
import { count, megabytes, NO_ANCHOR, type Row, seconds, verdictOf } from '../report.ts';
import { type Creation, createServices, createSlices, deleteServices, names } from '../services.ts';
import type { Stage } from '../stage.ts';

const LIMIT = { allMs: 8000, perSecond: 150, controllerMb: 110, agentMb: 95 };
/** a busy machine takes ten times as long, and that is a number too */
const PATIENCE_MS = 600_000;

export async function measureBurst(stage: Stage): Promise<readonly Row[]> {
  const { options, say } = stage;
  const { burst: size, clients, restMs } = options.sizes;
  const services = names('burst', size);
  await createSlices(stage, services);
  const before = await createAlone(stage, services);
  const balancer = stage.balancer();
  await balancer.start();
  await isReady(stage);
  const writesBefore = await apiWrites(stage.cluster);
  const usedBefore = await usedCpu(stage, balancer);
  say(`burst: ${size} Services by ${clients} clients`);
  const together = createServices(stage, services, { clients });
  const routes = await stage.routes.all(size, PATIENCE_MS, (found) =>
    say(`burst: ${found} routes`),
  );
  const creation = await together;
  const statusMs = await lastStatus(stage, size);
  const used = await usedCpu(stage, balancer);
  const cpu = new Map(
    [...used].map(([role, spent]) => [role, spent - (usedBefore.get(role) ?? 0)]),
  );
  await delay(restMs);
  const writes = between(writesBefore, await apiWrites(stage.cluster));
  const memory = (await balancer.pids()).map(memoryOf);
  const floor = await floorMb();
  const lastRouteMs = routes.receivedMs ?? routes.birdMs;
  await balancer.stop();
  await deleteServices(stage);
  // a machine may be faster or slower by now: so it is asked on both sides
  const alone = [before, await createAlone(stage, services)];
  return [
    ...burstRows({ size, clients, alone, creation, lastRouteMs, statusMs, cpu, writes }),
    ...memoryRows(memory, floor),
  ];
}

interface Alone {
  readonly creation: Creation;
  readonly serverCpu: number;
  readonly etcdCpu: number;
}

/** The same with no balancer: what the creation costs that none can spare. */
async function createAlone(stage: Stage, services: readonly string[]): Promise<Alone> {
  const { cluster, options, say } = stage;
  say(`burst: ${services.length} Services with no balancer`);
  const before = cluster.cpuSeconds();
  const { clients } = options.sizes;
  const creation = await createServices(stage, services, { clients });
  const after = cluster.cpuSeconds();
  await deleteServices(stage);
  const serverCpu = (after.servers[0] ?? 0) - (before.servers[0] ?? 0);
  return { creation, serverCpu, etcdCpu: after.etcd - before.etcd };
}

/** CPU seconds so far, by program: what is spent is the same on a busy machine, when it is over is not. */
export async function usedCpu(
  { cluster }: Stage,
  balancer: Balancer,
): Promise<ReadonlyMap<string, number>> {
  const { etcd, servers } = cluster.cpuSeconds();
  const own = (await balancer.pids()).map(({ role, pid }) => [role, cpuSeconds(pid)] as const);
  return new Map([['API server', servers[0] ?? 0], ['etcd', etcd], ...own]);
}

/** One Service through all of it: sessions are up, code has run once. */
async function isReady(stage: Stage): Promise<void> {
  await createSlices(stage, ['ready']);
  await createServices(stage, ['ready'], { clients: 1 });
  await stage.routes.all(1, 60_000);
  await stage.feed.when('ready', 60_000);
  await deleteServices(stage);
  await untilValue(
    'its route is gone',
    () => stage.routes.count(),
    (found) => found === 0,
    { timeoutMs: 60_000 },
  );
  stage.routes.begin();
  await delay(1000);
}

/** when the last of so many Services got its address */
export async function lastStatus({ feed }: Stage, size: number): Promise<number> {
  await untilValue(
    `${size} Services have an address`,
    () => feed.served.size,
    (served) => served >= size,
    { timeoutMs: PATIENCE_MS },
  );
  return Math.max(...[...feed.served.values()].map(({ atMs }) => atMs));
}

interface Burst {
  readonly size: number;
  readonly clients: number;
  /** before and after */
  readonly alone: readonly Alone[];
  readonly creation: Creation;
  readonly lastRouteMs: number;
  readonly statusMs: number;
  readonly cpu: ReadonlyMap<string, number>;
  readonly writes: ReadonlyMap<string, number>;
}

function burstRows(burst: Burst): readonly Row[] {
  const { size, clients, alone, creation, lastRouteMs, statusMs, cpu, writes } = burst;
  const routeMs = lastRouteMs - creation.firstMs;
  const toldMs = statusMs - creation.firstMs;
  const mean = (of: (each: Alone) => number) =>
    alone.reduce((sum, each) => sum + of(each), 0) / alone.length;
  const timesAlone =
    Math.max(routeMs, toldMs) / mean(({ creation: { firstMs, lastMs } }) => lastMs - firstMs);
  const [serverCpu, etcdCpu] = [mean((each) => each.serverCpu), mean((each) => each.etcdCpu)];
  const aloneRates = alone.map((each) => each.creation.perSecond);
  const rate = (value: number) => `${value.toFixed(0)}/s`;
  const isMet = Math.max(routeMs, toldMs) <= LIMIT.allMs && creation.perSecond >= LIMIT.perSecond;
  return [
    {
      work: `burst of ${count(size)} Services by ${clients} clients: first create → last route and last status`,
      anchor: '30.4 s, creates slowed to 50/s (275/s with no balancer)',
      target: `≤ ${LIMIT.allMs / 1000} s, creators ≥ ${LIMIT.perSecond}/s`,
      measured: `last route ${seconds(routeMs)}, last status ${seconds(toldMs)}, creators ${rate(creation.perSecond)} (${aloneRates.map(rate).join(' before and ')} after with no balancer): ${timesAlone.toFixed(1)} × the time of the creation alone (MetalLB 8.4 ×, the target 2.2 ×); CPU ${cpuText(cpu)} (with no balancer: API server ${serverCpu.toFixed(1)} s, etcd ${etcdCpu.toFixed(1)} s); ${(sum(writes) / size).toFixed(1)} writes to the API per Service, its creation among them`,
      verdict: verdictOf(isMet),
      samples: {
        routeMs,
        statusMs: toldMs,
        timesAlone,
        creatorsPerSecond: creation.perSecond,
        creatorsAlonePerSecond: aloneRates,
        'API server CPU seconds with no balancer': serverCpu,
        'etcd CPU seconds with no balancer': etcdCpu,
        ...Object.fromEntries(writes),
        ...Object.fromEntries([...cpu].map(([role, spent]) => [`${role} CPU seconds`, spent])),
      },
    },
  ];
}

const sum = (numbers: ReadonlyMap<string, number>): number =>
  [...numbers.values()].reduce((all, each) => all + each, 0);

export function cpuText(cpu: ReadonlyMap<string, number>): string {
  return [...cpu].map(([role, spent]) => `${role} ${spent.toFixed(1)} s`).join(', ');
}

function memoryRows(memory: readonly Memory[], floor: number): readonly Row[] {
  const limits: Readonly<Record<string, number>> = {
    controller: LIMIT.controllerMb,
    agent: LIMIT.agentMb,
  };
  const anchors: Readonly<Record<string, string>> = {
    controller: '84 MB peak',
    agent: '94 MB peak',
  };
  return memory.map(({ role, residentMb, peakMb }): Row => {
    const limit = limits[role];
    return {
      work: `RSS after the burst: ${role}`,
      anchor: anchors[role] ?? NO_ANCHOR,
      target: limit === undefined ? '' : `≤ ${limit} MB`,
      measured: `${megabytes(residentMb)}, peak ${megabytes(peakMb)}; an empty Node process ${megabytes(floor)}`,
      verdict: limit === undefined ? 'beside' : verdictOf(residentMb <= limit),
      samples: { residentMb, peakMb, floorMb: floor },
    };
  });
}
