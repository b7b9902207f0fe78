/**
 * A thousand agents and ten thousand exclusive claims: the node that holds a third of them goes silent, then, with the claims spread over all
 * nodes, a rack. Counted from the moment at which the controller takes the node for dead, which it writes into its IPNode.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { API_VERSION, nodeLabel } from '../../../../src/model/names.ts';
import { IP_CLAIMS, IP_NODES } from '../../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../../tools/probe/monotonic.ts';
import { conditionOf } from '../../../cluster/support/cluster.ts';
import { freePorts } from '../../../cluster/support/servers.ts';
import { pathOf } from '../../../cluster/support/test-api.ts';
import { field, text } from '../../../interop/routers/json.ts';
import { done, notYet, until } from '../../../support/poll.ts';
import { AgentCrowd, crowdNames } from '../agent-crowd.ts';
import { ClaimFeed } from '../claim-feed.ts';
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
}

export async function measureFailover(
  options: BenchOptions,
  say: (line: string) => void,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const agents of options.sizes.agents) {
    rows.push(...(await onStage(options, say, (stage) => withCrowd(stage, agents))));
  }
  return rows;
}

async function withCrowd(stage: Stage, agents: number): Promise<readonly Row[]> {
  const { cluster, say, options } = stage;
  const [metricsPort = 0] = await freePorts(1);
  const nodes = crowdNames(agents);
  await cluster.applyObjects(exclusivePool());
  say(`failover: ${agents} agents join`);
  const crowd = await AgentCrowd.start(cluster, nodes);
  try {
    const { claims, rack } = options.sizes;
    await createClaims(stage, claims, nodes.slice(0, HOLDERS));
    await stage.balancer({ controllerMetrics: metricsPort, controllerOnly: true }).start();
    const context = { stage, crowd, agents, metricsPort };
    const one = await lose(context, nodes.slice(0, 1));
    await cluster.api.call({
      method: 'DELETE',
      path: pathOf(IP_CLAIMS),
      options: { timeoutMs: 300_000 },
    });
    await createClaims(stage, claims, nodes.slice(1));
    const many = await lose(context, nodes.slice(-rack));
    return [rowOf('1 of 3 nodes that hold them', one), rowOf(`a rack of ${rack}`, many)];
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

/** placed already, evenly, as the controller leaves them */
async function createClaims(
  stage: Stage,
  howMany: number,
  nodes: readonly string[],
): Promise<void> {
  stage.say(`failover: ${howMany} claims are made on ${nodes.length} nodes`);
  const all = Array.from({ length: howMany }, (_, index) => String(index));
  await byClients(stage, CLIENTS, all, (api, index) => {
    const number = Number(index);
    const node = nodes[number % nodes.length] ?? '';
    return api.create(IP_CLAIMS, {
      apiVersion: API_VERSION,
      kind: 'IPClaim',
      metadata: {
        name: `10.128.${number >> 8}.${number & 255}`,
        labels: { [nodeLabel(node)]: '0' },
      },
      spec: { pool: 'exclusive', node },
    });
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
    return {
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
  return {
    work: `${count(agents)} simulated agents: ${what} lost, ${count(claims.length)} exclusive claims → all placed again`,
    anchor: NO_ANCHOR,
    target: `≤ ${LIMIT_MS / 1000} s after detection`,
    measured: `${seconds(tookMs)}; ${callsPerClaim.toFixed(2)} API calls and ${((apiCpuSeconds * 1000) / claims.length).toFixed(1)} ms of API-server CPU per claim (at rest it uses ${(quietCpuPerSecond * 100).toFixed(0)} % of a core)`,
    verdict: verdictOf(tookMs <= LIMIT_MS),
    samples: { tookMs, claims: claims.length, callsPerClaim, apiCpuSeconds, quietCpuPerSecond },
  };
}
