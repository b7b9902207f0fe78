/** One Service at a time: created → its route in BIRD, deleted → the route gone. */

import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { inNamespace, SERVICES } from '../../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../../tools/probe/monotonic.ts';
import { ms, p50, p99, type Row, verdictOf } from '../report.ts';
import { createSlices, names } from '../services.ts';
import type { Stage } from '../stage.ts';

export interface Single {
  readonly createdMs: number;
  /** the same from the moment at which the API had answered the creation */
  readonly answeredMs: number;
  readonly withdrawnMs: number;
  /** how much later than the receiving router BIRD was seen to have it: what asking costs, and nothing else */
  readonly birdLagMs?: number;
  readonly statusMs: number;
}

/** code that runs for the first time is slower; these are told apart */
const WARM_UP = 5;
const CREATE = { p50: 20, p99: 50 };
const DELETE = { p50: 15 };

export async function measureSingle(stage: Stage): Promise<readonly Row[]> {
  const { options, say, receiver } = stage;
  await stage.balancer().start();
  const { singles } = options.sizes;
  const services = names('single', singles + WARM_UP);
  await createSlices(stage, services);
  if (options.balancer === undefined) {
    await receiver.waitFor('the session', () => receiver.established.length > 0);
  }
  const runs: Single[] = [];
  for (const [index, name] of services.entries()) {
    runs.push(await oneService(stage, name));
    if (index % 20 === 0) say(`single: ${index} of ${services.length}`);
  }
  return rowsOf(runs.slice(0, WARM_UP), runs.slice(WARM_UP));
}

async function oneService(stage: Stage, name: string): Promise<Single> {
  const { cluster, namespace, routes, feed } = stage;
  const before = await routes.count();
  routes.begin();
  const startedAt = nowMs();
  const created = cluster.addService({ namespace, name }).then(() => nowMs());
  const arrival = await routes.next('announced', before + 1);
  const answeredAt = await created;
  const { atMs: statusAt } = await feed.when(name);
  await delay(randomInt(100, 200));
  routes.begin();
  const deletedAt = nowMs();
  await cluster.api.delete(inNamespace(SERVICES, namespace), name);
  const departure = await routes.next('withdrawn', before);
  await delay(randomInt(100, 200));
  const { birdMs, receivedMs } = arrival;
  return {
    createdMs: birdMs - startedAt,
    answeredMs: birdMs - answeredAt,
    withdrawnMs: departure.birdMs - deletedAt,
    statusMs: statusAt - startedAt,
    ...(receivedMs === undefined ? {} : { birdLagMs: birdMs - receivedMs }),
  };
}

function rowsOf(warmUp: readonly Single[], runs: readonly Single[]): readonly Row[] {
  const of = (pick: (run: Single) => number | undefined) => runs.flatMap((run) => pick(run) ?? []);
  const created = of((run) => run.createdMs);
  const withdrawn = of((run) => run.withdrawnMs);
  const answered = of((run) => run.answeredMs);
  const status = of((run) => run.statusMs);
  const lag = of((run) => run.birdLagMs);
  const isMet = p50(created) <= CREATE.p50 && p99(created) <= CREATE.p99;
  const beside = `; of these the API's own answer p50 ${ms(p50(created) - p50(answered))}; status p50 ${ms(p50(status))}`;
  const first = ` (the first ${warmUp.length}: ${warmUp.map((run) => run.createdMs.toFixed(0)).join(', ')} ms)`;
  return [
    {
      work: `Service created → route in BIRD, one at a time, no kube-proxy gate, ${runs.length} runs`,
      anchor: 'p50 31 ms, p99 71 ms',
      target: `p50 ≤ ${CREATE.p50} ms, p99 ≤ ${CREATE.p99} ms`,
      measured: `p50 ${ms(p50(created))}, p99 ${ms(p99(created))}${beside}${first}`,
      verdict: verdictOf(isMet),
      samples: { created, answered, status, warmUp: warmUp.map((run) => run.createdMs) },
    },
    {
      work: `Service deleted → withdrawn, ${runs.length} runs`,
      anchor: 'p50 23 ms',
      target: `p50 ≤ ${DELETE.p50} ms`,
      measured: `p50 ${ms(p50(withdrawn))}, p99 ${ms(p99(withdrawn))}`,
      verdict: verdictOf(p50(withdrawn) <= DELETE.p50),
      samples: { withdrawn },
    },
    ...(lag.length === 0
      ? []
      : [
          {
            work: 'BIRD seen to have it, after the receiving router had read it (error of the clock)',
            anchor: '–',
            target: '≤ 2 ms',
            measured: `p50 ${ms(p50(lag))}, p99 ${ms(p99(lag))}`,
            verdict: verdictOf(p50(lag) <= 2),
            samples: { lag },
          },
        ]),
  ];
}
