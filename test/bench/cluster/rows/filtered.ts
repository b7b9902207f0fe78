/**
 * What an agent hears of claims that are not its own: nothing. The same agent beside ten Services and beside ten thousand, of which all but ten
 * are exclusive on other nodes; its traffic counted by a proxy on its way to the API, over the same time.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { ANNOTATION, API_VERSION } from '../../../../src/model/names.ts';
import { nowMs } from '../../../../tools/probe/monotonic.ts';
import { startProxy } from '../../../cluster/support/proxy.ts';
import { AgentCrowd, crowdNames } from '../agent-crowd.ts';
import { agentKubeconfig } from '../herald-balancer.ts';
import { memoryOf } from '../memory.ts';
import type { BenchOptions } from '../options.ts';
import { count, megabytes, type Row, verdictOf } from '../report.ts';
import { createServices, createSlices, names } from '../services.ts';
import { NODE, onStage, type Stage } from '../stage.ts';
import { lastStatus } from './burst.ts';

const OWN = 10;
const OTHERS = 3;
const CLIENTS = 16;
const TOLERANCE = 1.1;

interface Heard {
  /** of lists and watches */
  readonly heardBytes: number;
  readonly byResource: Readonly<Record<string, number>>;
  readonly residentMb: number;
  readonly tookMs: number;
}

export async function measureFiltered(
  options: BenchOptions,
  say: (line: string) => void,
): Promise<readonly Row[]> {
  const { elsewhere } = options.sizes;
  // the long run first: the short one is given the same time
  const many = await onStage(options, say, (stage) => hear(stage, elsewhere, 0));
  const few = await onStage(options, say, (stage) => hear(stage, 0, many.tookMs));
  return [rowOf(few, many, elsewhere)];
}

async function hear(stage: Stage, elsewhere: number, leastMs: number): Promise<Heard> {
  const { cluster, options, say, routes } = stage;
  const proxy = await startProxy(cluster);
  const crowd = await AgentCrowd.start(cluster, crowdNames(OTHERS));
  try {
    await cluster.applyObjects(poolElsewhere());
    const kubeconfig = proxy.kubeconfig(await agentKubeconfig(cluster, NODE));
    const balancer = stage.balancer({ agentKubeconfig: kubeconfig });
    const startedAt = nowMs();
    await balancer.start();
    await stage.receiver.waitFor('the session', () => stage.receiver.established.length > 0);
    await createAll(stage, names('own', OWN), {});
    await routes.all(OWN, 60_000);
    say(`filtered: ${elsewhere} Services elsewhere`);
    await createAll(stage, names('elsewhere', elsewhere), { [ANNOTATION.pool]: 'elsewhere' });
    await lastStatus(stage, OWN + elsewhere);
    await delay(Math.max(options.sizes.restMs, leastMs - (nowMs() - startedAt)));
    const agent = (await balancer.pids()).find(({ role }) => role === 'agent');
    if (agent === undefined) throw new Error('the agent has ended');
    const { residentMb } = memoryOf(agent);
    const byResource: Record<string, number> = {};
    for (const { request, bytes } of proxy.requests) {
      const key = `${request.verb} ${request.resource}`;
      byResource[key] = (byResource[key] ?? 0) + bytes;
    }
    return {
      heardBytes: proxy.bytes({ verb: ['list', 'watch'] }),
      ...{ byResource, residentMb, tookMs: nowMs() - startedAt },
    };
  } finally {
    crowd.stop();
    await proxy.stop();
  }
}

async function createAll(
  stage: Stage,
  services: readonly string[],
  annotations: Readonly<Record<string, string>>,
): Promise<void> {
  await createSlices(stage, services);
  await createServices(stage, services, { clients: CLIENTS, annotations });
}

function poolElsewhere(): object {
  const key = 'kubernetes.io/hostname';
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name: 'elsewhere' },
    spec: {
      addresses: ['10.128.0.0/16'],
      autoAssign: false,
      placement: {
        mode: 'exclusive',
        nodeSelector: { matchExpressions: [{ key, operator: 'NotIn', values: [NODE] }] },
      },
    },
  };
}

function rowOf(few: Heard, many: Heard, elsewhere: number): Row {
  // what an agent lists at its start it need not hear by its watch
  const traffic = many.heardBytes / few.heardBytes;
  const memory = many.residentMb / few.residentMb;
  const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`;
  const change = (ratio: number) => `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(0)} %`;
  return {
    work: `${count(OWN + elsewhere)} Services, ${count(elsewhere)} of them exclusive on other nodes: the agent's watch traffic and RSS beside those with ${OWN} Services`,
    anchor: 'grows with all',
    target: 'within 10 %',
    measured: `lists and watches ${kilobytes(many.heardBytes)} against ${kilobytes(few.heardBytes)} (${change(traffic)}) in ${(many.tookMs / 1000).toFixed(0)} s; RSS ${megabytes(many.residentMb)} against ${megabytes(few.residentMb)} (${change(memory)})`,
    verdict: verdictOf(traffic <= TOLERANCE && memory <= TOLERANCE),
    samples: {
      ...Object.fromEntries(
        Object.entries(many.byResource).map(([key, bytes]) => [`many: ${key}`, bytes]),
      ),
      ...Object.fromEntries(
        Object.entries(few.byResource).map(([key, bytes]) => [`few: ${key}`, bytes]),
      ),
      heardBytes: [few.heardBytes, many.heardBytes],
      residentMb: [few.residentMb, many.residentMb],
    },
  };
}
