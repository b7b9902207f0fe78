/** Many Services at once by several clients, and what the balancer holds after that. */

import { setTimeout as delay } from 'node:timers/promises';
import { IP_CLAIMS } from '../../../../src/sources/kube/resources.ts';
import { cpuSeconds } from '../../../cluster/support/daemon.ts';
import { untilValue } from '../../../support/poll.ts';
import { apiWrites, between } from '../api-writes.ts';
import type { Balancer } from '../balancer.ts';
import { BURST_LIMIT, type BurstRun, burstRun, burstSummary } from '../burst-ratio.ts';
import { floorMb, type Memory, memoryOf } from '../memory.ts';
import { count, megabytes, NO_ANCHOR, p50, type Row, seconds, verdictOf } from '../report.ts';
import { type Creation, createServices, createSlices, deleteServices, names } from '../services.ts';
import type { Stage } from '../stage.ts';

const LIMIT = { controllerMb: 110, agentMb: 95 };
/** a busy machine takes ten times as long, and that is a number too */
const PATIENCE_MS = 600_000;
const READY = 'ready';

/** Runs, and before, between and after them the same with no balancer: a machine is faster or slower from one minute to the next. */
export async function measureBurst(stage: Stage): Promise<readonly Row[]> {
  const { burst: size, bursts, clients } = stage.options.sizes;
  const services = names('burst', size);
  await createSlices(stage, [...services, READY]);
  const runs: Run[] = [];
  let before = await createAlone(stage, services);
  for (let run = 1; run <= bursts; run += 1) {
    stage.say(`burst: run ${run} of ${bursts}`);
    const together = await createTogether(stage, services);
    const after = await createAlone(stage, services);
    runs.push({ ...together, alone: [before, after] });
    before = after;
  }
  const floor = await floorMb();
  return [burstRow({ size, clients, runs }), ...memoryRows(runs, floor)];
}

/** One burst, with a balancer that is started for it. */
async function createTogether(
  stage: Stage,
  services: readonly string[],
): Promise<Omit<Run, 'alone'>> {
  const { options, say } = stage;
  const { clients, restMs } = options.sizes;
  const size = services.length;
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
  const lastRouteMs = routes.receivedMs ?? routes.birdMs;
  await deleteServices(stage);
  await isCleared(stage);
  await balancer.stop();
  return { creation, lastRouteMs, statusMs, cpu, writes, memory };
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
  await createServices(stage, [READY], { clients: 1 });
  await stage.routes.all(1, 60_000);
  await stage.feed.when(READY, 60_000);
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

/** Nothing is left that the balancer of the next run would find and clear away in the midst of it. */
async function isCleared({ cluster, options, routes }: Stage): Promise<void> {
  await untilValue(
    'routes and claims are gone',
    async () => {
      const claims =
        options.balancer === undefined ? (await cluster.api.list(IP_CLAIMS)).items.length : 0;
      return { routes: await routes.count(), claims };
    },
    (left) => left.routes === 0 && left.claims === 0,
    { timeoutMs: PATIENCE_MS, everyMs: 500 },
  );
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

interface Run {
  /** before and after */
  readonly alone: readonly Alone[];
  readonly creation: Creation;
  readonly lastRouteMs: number;
  readonly statusMs: number;
  readonly cpu: ReadonlyMap<string, number>;
  readonly writes: ReadonlyMap<string, number>;
  readonly memory: readonly Memory[];
}

interface Burst {
  readonly size: number;
  readonly clients: number;
  readonly runs: readonly Run[];
}

function burstRow({ size, clients, runs }: Burst): Row {
  const found = runs.map((run) => burstRun(size, run));
  const summary = burstSummary(found);
  const { timesAlone, serverMsOver } = summary;
  const of = (value: (run: BurstRun) => number) => p50(found.map(value));
  const rate = (value: number) => `${value.toFixed(0)}/s`;
  const roles = [...(runs[0]?.cpu.keys() ?? [])];
  const cpu = new Map(
    roles.map((role) => [role, p50(runs.map((run) => run.cpu.get(role) ?? 0))] as const),
  );
  const alone = runs.flatMap((run) => run.alone);
  const [serverCpu, etcdCpu] = [
    p50(alone.map((each) => each.serverCpu)),
    p50(alone.map((each) => each.etcdCpu)),
  ];
  const writes = p50(runs.map((run) => sum(run.writes))) / size;
  const times = found.map((run) => run.timesAlone.toFixed(1)).join(', ');
  return {
    work: `burst of ${count(size)} Services by ${clients} clients: first create → last route and last status`,
    anchor: '8.4 × (30.4 s, creates slowed to 50/s of 275/s)',
    target: `median ≤ ${BURST_LIMIT.timesAlone} × the creation alone; API server ≤ ${BURST_LIMIT.serverMsOver} ms of CPU per Service over the creation alone`,
    measured: `${timesAlone.toFixed(1)} × (${runs.length} runs: ${times}), ${serverMsOver.toFixed(1)} ms; medians: last route ${seconds(of((run) => run.routeMs))}, last status ${seconds(of((run) => run.toldMs))}, creators ${rate(of((run) => run.perSecond))} (${rate(of((run) => run.alonePerSecond))} with no balancer); CPU ${cpuText(cpu)} (with no balancer: API server ${serverCpu.toFixed(1)} s, etcd ${etcdCpu.toFixed(1)} s); ${writes.toFixed(1)} writes to the API per Service, its creation among them`,
    verdict: verdictOf(summary.isMet),
    samples: {
      timesAlone: found.map((run) => run.timesAlone),
      serverMsOver: found.map((run) => run.serverMsOver),
      routeMs: found.map((run) => run.routeMs),
      statusMs: found.map((run) => run.toldMs),
      creatorsPerSecond: found.map((run) => run.perSecond),
      creatorsAlonePerSecond: alone.map((each) => each.creation.perSecond),
      'API server CPU seconds with no balancer': serverCpu,
      'etcd CPU seconds with no balancer': etcdCpu,
      ...Object.fromEntries(runs[0]?.writes ?? []),
      ...Object.fromEntries([...cpu].map(([role, spent]) => [`${role} CPU seconds`, spent])),
    },
  };
}

const sum = (numbers: ReadonlyMap<string, number>): number =>
  [...numbers.values()].reduce((all, each) => all + each, 0);

export function cpuText(cpu: ReadonlyMap<string, number>): string {
  return [...cpu].map(([role, spent]) => `${role} ${spent.toFixed(1)} s`).join(', ');
}

function memoryRows(runs: readonly Run[], floor: number): readonly Row[] {
  const limits: Readonly<Record<string, number>> = {
    controller: LIMIT.controllerMb,
    agent: LIMIT.agentMb,
  };
  const anchors: Readonly<Record<string, string>> = {
    controller: '84 MB peak',
    agent: '94 MB peak',
  };
  const roles = (runs[0]?.memory ?? []).map(({ role }) => role);
  return roles.map((role): Row => {
    const limit = limits[role];
    const found = runs.flatMap(({ memory }) => memory.filter((each) => each.role === role));
    const residentMb = p50(found.map((each) => each.residentMb));
    const peakMb = Math.max(...found.map((each) => each.peakMb));
    return {
      work: `RSS after the burst: ${role}`,
      anchor: anchors[role] ?? NO_ANCHOR,
      target: limit === undefined ? '' : `≤ ${limit} MB`,
      measured: `${megabytes(residentMb)}, peak ${megabytes(peakMb)}; an empty Node process ${megabytes(floor)}`,
      verdict: limit === undefined ? 'beside' : verdictOf(residentMb <= limit),
      samples: { residentMb: found.map((each) => each.residentMb), peakMb, floorMb: floor },
    };
  });
}
