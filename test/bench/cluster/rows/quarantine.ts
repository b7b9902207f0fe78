/**
 * Addresses that were given back and wait for one node that is off, while a thousand others report: what that costs the controller, beside the same
 * without them. No exclusive pool, so nobody has a Lease.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { RELEASED_AT_ANNOTATION } from '../../../../src/model/names.ts';
import type { KubeObject } from '../../../../src/sources/kube/api.ts';
import { versionNumber } from '../../../../src/sources/kube/object-key.ts';
import { IP_CLAIMS, IP_NODES, NODES } from '../../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../../tools/probe/monotonic.ts';
import { cpuSeconds } from '../../../cluster/support/daemon.ts';
import { field, text } from '../../../interop/routers/json.ts';
import { claimBody } from '../../../support/fake-agents.ts';
import { untilValue } from '../../../support/poll.ts';
import { AgentCrowd, crowdNames } from '../agent-crowd.ts';
import type { Balancer } from '../balancer.ts';
import type { BenchOptions } from '../options.ts';
import { count, NO_ANCHOR, type Row, verdictOf } from '../report.ts';
import { createServices, createSlices, deleteServices, names } from '../services.ts';
import { onStage, type Stage } from '../stage.ts';
import { lastStatus } from './burst.ts';

const LIMIT_PERCENT = 5;
/** a claim of its own, outside of what Services get first: it changes now and then, so that every node has something new to report, as in a cluster that is used */
const OTHER_CLAIM = '198.19.255.1';
const BEATS = 3;
const CLIENTS = 8;
const PATIENTLY = { timeoutMs: 600_000, everyMs: 2000 };

/** What the controller used of a core while nodes reported. */
interface Use {
  readonly percent: number;
  /** nodes whose `observedClaims` has moved meanwhile: only such a report was ever held against released addresses */
  readonly reported: number;
}

export async function measureQuarantine(
  options: BenchOptions,
  say: (line: string) => void,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const agents of options.sizes.agents) {
    rows.push(await onStage(options, say, (stage) => withCrowd(stage, agents)));
  }
  return rows;
}

async function withCrowd(stage: Stage, agents: number): Promise<Row> {
  const { cluster, say, options } = stage;
  const { released, reportMs, lookMs } = options.sizes;
  const [off = '', ...others] = crowdNames(agents);
  say(`quarantine: ${agents} agents join`);
  const crowd = await AgentCrowd.start(cluster, [off, ...others], { renews: false, reportMs });
  try {
    await crowd.silence([off]);
    await cluster.api.create(IP_CLAIMS, claimBody(OTHER_CLAIM));
    const balancer = stage.balancer({ controllerOnly: true });
    await balancer.start();
    await toRest(stage, balancer);
    say(`quarantine: ${lookMs / 1000} s without released addresses`);
    const alone = await use(stage, balancer);
    await release(stage, released, off);
    await toRest(stage, balancer);
    say(`quarantine: ${lookMs / 1000} s with ${released} that wait for ${off}`);
    const beside = await use(stage, balancer);
    const left = await waiting(stage);
    // it is this node that they have waited for
    await cluster.api.delete(NODES, off);
    await untilValue(
      'they are free',
      () => waiting(stage),
      (found) => found === 0,
      PATIENTLY,
    );
    return rowOf({ agents, released, reportMs, alone, beside, left });
  } finally {
    crowd.stop();
  }
}

/** Services come and go; then all nodes but one have confirmed that. */
async function release(stage: Stage, howMany: number, off: string): Promise<void> {
  const { say } = stage;
  const services = names('quarantined', howMany);
  say(`quarantine: ${howMany} Services come and go`);
  await createSlices(stage, services);
  await createServices(stage, services, { clients: CLIENTS });
  await lastStatus(stage, howMany);
  await deleteServices(stage);
  await untilValue(
    'all are released',
    () => waiting(stage),
    (found) => found === howMany,
    PATIENTLY,
  );
  const last = (await releasedClaims(stage))
    .map(versionOf)
    .reduce((most, each) => (each > most ? each : most), 0n);
  await untilValue(
    `all but ${off} have heard of it`,
    async () =>
      (await observed(stage)).filter(([, version]) => version < last).map(([name]) => name),
    (missing) => missing.length === 1 && missing[0] === off,
    PATIENTLY,
  );
}

const versionOf = ({ metadata }: KubeObject): bigint => versionNumber(metadata.resourceVersion);

/** released addresses that are not free yet */
async function waiting(stage: Stage): Promise<number> {
  return (await releasedClaims(stage)).length;
}

async function releasedClaims({ cluster }: Stage): Promise<readonly KubeObject[]> {
  const { items } = await cluster.api.list(IP_CLAIMS);
  return items.filter(({ metadata }) => RELEASED_AT_ANNOTATION in (metadata.annotations ?? {}));
}

async function observed({ cluster }: Stage): Promise<readonly (readonly [string, bigint])[]> {
  const { items } = await cluster.api.list(IP_NODES);
  return items.map((node) => {
    return [node.metadata.name, versionNumber(text(field(node, 'status', 'observedClaims')))];
  });
}

async function controllerCpu(balancer: Balancer): Promise<number> {
  const controller = (await balancer.pids()).find(({ role }) => role === 'controller');
  if (controller === undefined) throw new Error('the controller has ended');
  return cpuSeconds(controller.pid);
}

async function use(stage: Stage, balancer: Balancer): Promise<Use> {
  const before = new Map(await observed(stage));
  const [cpu, startedMs] = [await controllerCpu(balancer), nowMs()];
  const { lookMs, reportMs } = stage.options.sizes;
  for (let beat = 0; beat < BEATS; beat += 1) {
    const body = { metadata: { annotations: { 'bench.example/beat': String(nowMs()) } } };
    await stage.cluster.api.patch(IP_CLAIMS, OTHER_CLAIM, { kind: 'merge', body });
    await delay((lookMs - reportMs / 2) / BEATS);
  }
  // every node reports once more after the last one
  await delay(reportMs / 2);
  const percent = ((await controllerCpu(balancer)) - cpu) / ((nowMs() - startedMs) / 100_000);
  const after = await observed(stage);
  return { percent, reported: after.filter(([name, seen]) => before.get(name) !== seen).length };
}

/** The lists are read, and what a start or a release brings with it is done. */
async function toRest({ options }: Stage, balancer: Balancer): Promise<void> {
  let before = Number.NEGATIVE_INFINITY;
  const shareOfCore = 0.25;
  await untilValue(
    'the controller is at rest',
    async () => {
      const now = await controllerCpu(balancer);
      const used = now - before;
      before = now;
      return used;
    },
    (used) => used < (shareOfCore * options.sizes.restMs) / 1000,
    { timeoutMs: 120_000, everyMs: options.sizes.restMs },
  ).catch(() => undefined); // one that never rests is what this row is about
}

interface Found {
  readonly agents: number;
  readonly released: number;
  readonly reportMs: number;
  readonly alone: Use;
  readonly beside: Use;
  readonly left: number;
}

function rowOf(found: Found): Row {
  const { agents, released, reportMs, alone, beside, left } = found;
  const percent = (use: Use) => `${use.percent.toFixed(1)} %`;
  const isWhole = left === released && beside.reported === agents - 1;
  return {
    work: `${count(agents)} simulated agents that report every ${reportMs / 1000} s, ${count(released)} released addresses that wait for one node that is off: CPU of the controller`,
    anchor: NO_ANCHOR,
    target: `≤ ${LIMIT_PERCENT} % of a core`,
    measured: `${percent(beside)} (without released addresses ${percent(alone)}); ${count(beside.reported)} and ${count(alone.reported)} nodes said something new meanwhile; ${count(left)} were still held at the end, and free when that node's Node was deleted`,
    verdict: verdictOf(isWhole && beside.percent <= LIMIT_PERCENT),
    samples: {
      ...{ percent: beside.percent, alonePercent: alone.percent, left },
      ...{ reported: beside.reported, aloneReported: alone.reported },
    },
  };
}
