/**
 * A thousand agents and ten thousand exclusive claims: the node that holds a third of them goes silent, then, with the claims spread over all
 * nodes, a rack. Counted from the moment at which the controller takes the node for dead, which it writes into its IPNode.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { API_VERSION, nodeLabel } from '../../../../src/model/names.ts';
import { IP_CLAIMS, IP_NODES } from '../../../../src/sources/kube/resources.ts';
import { NO_RECORD } from '../../../../src/sources/kube/written-fields.ts';
import { nowMs } from '../../../../tools/probe/monotonic.ts';
import { conditionOf } from '../../../cluster/support/cluster.ts';
import { freePorts } from '../../../cluster/support/servers.ts';
import { field, text } from '../../../interop/routers/json.ts';
import { done, notYet, until } from '../../../support/poll.ts';
import { AgentCrowd, crowdNames } from '../agent-crowd.ts';
import { apiWrites, between } from '../api-writes.ts';
import { ClaimFeed } from '../claim-feed.ts';
import { claimWatches } from '../claim-watches.ts';
import { requestsOf } from '../controller-metrics.ts';
import type { BenchOptions } from '../options.ts';
import { count, NO_ANCHOR, type Row, seconds, verdictOf } from '../report.ts';
import { byClients } from '../services.ts';
import { onStage, type Stage } from '../stage.ts';

const LIMIT_MS = 10_000;
const HOLDERS = 3;
const QUIET_MS = 5000;
const PATIENCE_MS = 300_000;
const CLIENTS = 16;

interface Loss {
  readonly agents: number;
  readonly lost: readonly string[];
  readonly claims: readonly string[];
  readonly detectedMs: number;
  readonly tookMs: number;
  readonly callsPerClaim: number;
  readonly apiCpuSeconds: number;
  readonly quietCpuPerSecond: number;
  /** of claims, when it began, and how many the server has ended since: it could not keep up */
  readonly watches: number;
  readonly ended: number;
  /** IPNodes written by those that got claims */
  readonly reports: number;
}

export async function measureFailover(
  options: BenchOptions,
  say: (line: string) => void,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const { rack } = options.sizes;
  for (const agents of options.sizes.agents) {
    const nodes = crowdNames(agents);
    const one = { holders: nodes.slice(0, HOLDERS), lost: nodes.slice(0, 1) };
    const many = { holders: nodes, lost: nodes.slice(-rack) };
    const lose = (plan: Plan) => onStage(options, say, (stage) => withCrowd(stage, nodes, plan));
    rows.push(rowOf('1 of 3 nodes that hold them', await lose(one)));
    rows.push(rowOf(`a rack of ${rack}`, await lose(many)));
  }
  return rows;
}

interface Plan {
  readonly holders: readonly string[];
  readonly lost: readonly string[];
}

async function withCrowd(stage: Stage, nodes: readonly string[], plan: Plan): Promise<Loss> {
  const { cluster, say, options } = stage;
  const [metricsPort = 0] = await freePorts(1);
  await cluster.applyObjects(exclusivePool());
  // before anybody watches: a server on two cores ends the watches of agents while thousands of claims are made
  await createClaims(stage, options.sizes.claims, plan.holders);
  say(`failover: ${nodes.length} agents join`);
  const crowd = await AgentCrowd.start(cluster, nodes);
  try {
    await stage.balancer({ controllerMetrics: metricsPort, controllerOnly: true }).start();
    return await lose({ stage, crowd, agents: nodes.length, metricsPort }, plan.lost);
  } finally {
    crowd.stop();
  }
}

function exclusivePool(): object {
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name: 'exclusive' },
    spec: {
      addresses: ['10.128.0.0/16'],
      placement: { mode: 'exclusive', nodeFilter: 'fair' },
    },
  };
}

/** placed already, evenly, and as the controller leaves them: made, placed, with no record of its writers */
async function createClaims(
  stage: Stage,
  howMany: number,
  nodes: readonly string[],
): Promise<void> {
  stage.say(`failover: ${howMany} claims are made on ${nodes.length} nodes`);
  const all = Array.from({ length: howMany }, (_, index) => String(index));
  await byClients(stage, CLIENTS, all, async (api, index) => {
    const number = Number(index);
    const node = nodes[number % nodes.length] ?? '';
    const name = `10.128.${number >> 8}.${number & 255}`;
    const spec = { pool: 'exclusive' };
    await api.create(IP_CLAIMS, {
      apiVersion: API_VERSION,
      kind: 'IPClaim',
      metadata: { name },
      spec,
    });
    const metadata = { labels: { [nodeLabel(node)]: '0' }, managedFields: NO_RECORD };
    await api.patch(IP_CLAIMS, name, { kind: 'merge', body: { metadata, spec: { node } } });
  });
}

interface Context {
  readonly stage: Stage;
  readonly crowd: AgentCrowd;
  readonly agents: number;
  readonly metricsPort: number;
}

async function lose(context: Context, lost: readonly string[]): Promise<Loss> {
  const { stage, crowd, agents, metricsPort } = context;
  const { cluster, say } = stage;
  const feed = await ClaimFeed.start(cluster.api);
  try {
    await settled(context);
    const claims = feed.heldBy(lost);
    const cpu = () => cluster.cpuSeconds().servers[0] ?? 0;
    const [quietFrom, quietAt] = [cpu(), nowMs()];
    await delay(QUIET_MS);
    const quietCpuPerSecond = ((cpu() - quietFrom) * 1000) / (nowMs() - quietAt);
    const callsBefore = await requestsOf(metricsPort, ['ipclaims']);
    // its metrics cost the server something too: not while its CPU is counted
    const watchesBefore = await claimWatches(cluster);
    const writesBefore = await apiWrites(cluster);
    say(`failover: ${lost.length} of ${agents} go silent, with ${claims.length} claims`);
    await crowd.silence(lost);
    const detectedMs = await detection(stage, lost);
    const [cpuBefore, cpuAt] = [cpu(), nowMs()];
    const moved = await until(
      'all are placed again',
      () => {
        const found = feed.moved(claims, lost);
        return found.isAll ? done(found) : notYet(found.count);
      },
      { timeoutMs: PATIENCE_MS, everyMs: 100 },
    );
    const spent = cpu() - cpuBefore - (quietCpuPerSecond * (nowMs() - cpuAt)) / 1000;
    const calls = (await requestsOf(metricsPort, ['ipclaims'])) - callsBefore;
    const writes = between(writesBefore, await apiWrites(cluster));
    const { ended } = await claimWatches(cluster);
    return {
      watches: watchesBefore.open,
      ended: ended - watchesBefore.ended,
      reports: writes.get('patch ipnodes/status') ?? 0,
      ...{ agents, lost, claims, detectedMs, quietCpuPerSecond },
      tookMs: moved.lastMs - Math.min(detectedMs, moved.firstMs),
      callsPerClaim: calls / claims.length,
      apiCpuSeconds: spent,
    };
  } finally {
    feed.stop();
  }
}

/** The controller has seen every agent renew twice, and has nothing left to write. */
async function settled({ stage, metricsPort }: Context): Promise<void> {
  let before = -1;
  await until(
    'the controller is at rest',
    async () => {
      const found = await requestsOf(metricsPort, ['ipclaims', 'ipnodes']);
      const isQuiet = found === before;
      before = found;
      const nodes = (await stage.cluster.api.list(IP_NODES)).items;
      const alive = nodes.filter((node) => isAlive(node, 'True')).length;
      stage.say(`failover: ${alive} agents are known to live, ${found} calls`);
      return isQuiet && alive > nodes.length / 2 ? done(true) : notYet({ alive, found });
    },
    { timeoutMs: PATIENCE_MS, everyMs: 3000 },
  );
}

const isAlive = (node: Parameters<typeof conditionOf>[0], status: string): boolean =>
  field(conditionOf(node, 'AgentAlive'), 'status') === status;

/** when the first of them was written dead */
async function detection({ cluster }: Stage, lost: readonly string[]): Promise<number> {
  const [name = ''] = lost;
  return await until(
    `${name} is known to be dead`,
    async () => {
      const node = await cluster.api.get(IP_NODES, name);
      return isAlive(node, 'False') ? done(nowMs()) : notYet(text(conditionOf(node, 'AgentAlive')));
    },
    { timeoutMs: PATIENCE_MS, everyMs: 20 },
  );
}

function rowOf(what: string, loss: Loss): Row {
  const { agents, claims, tookMs, callsPerClaim, apiCpuSeconds, quietCpuPerSecond } = loss;
  const { watches, ended, reports } = loss;
  return {
    work: `${count(agents)} simulated agents: ${what} lost, ${count(claims.length)} exclusive claims → all placed again`,
    anchor: NO_ANCHOR,
    target: `≤ ${LIMIT_MS / 1000} s after detection`,
    measured: `${seconds(tookMs)}; ${callsPerClaim.toFixed(2)} API calls and ${((apiCpuSeconds * 1000) / claims.length).toFixed(1)} ms of API-server CPU per claim (at rest it uses ${(quietCpuPerSecond * 100).toFixed(0)} % of a core); ${count(watches)} watches of claims, ${count(ended)} of them ended by a server that could not keep up; ${count(reports)} answers of agents`,
    verdict: verdictOf(tookMs <= LIMIT_MS),
    samples: {
      ...{ tookMs, claims: claims.length, callsPerClaim, apiCpuSeconds, quietCpuPerSecond },
      ...{ watches, ended, reports },
    },
  };
}
