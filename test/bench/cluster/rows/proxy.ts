/** Beside something that plays kube-proxy: a route that comes before its rules would lead packets into nothing. */

import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { inNamespace, SERVICES } from '../../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../../tools/probe/monotonic.ts';
import { untilValue } from '../../../support/poll.ts';
import { ProxyStandIn } from '../proxy-stand-in.ts';
import { ms, NO_ANCHOR, p50, p99, type Row, verdictOf } from '../report.ts';
import { createSlices, names } from '../services.ts';
import type { Stage } from '../stage.ts';

interface Proxied {
  readonly createdMs: number;
  /** how long the rules stood when the route came; below zero a probe could have come too early */
  readonly marginMs: number;
}

export async function measureProxy(stage: Stage): Promise<readonly Row[]> {
  const { receiver, options, say, feed } = stage;
  const proxy = await ProxyStandIn.start(feed);
  try {
    await stage.balancer({ proxyCheck: proxy.url, proxyMetrics: proxy.metricsUrl }).start();
    const services = names('proxied', options.sizes.proxied);
    await createSlices(stage, services);
    await receiver.waitFor('the session', () => receiver.established.length > 0);
    const runs: Proxied[] = [];
    for (const [index, name] of services.entries()) {
      runs.push(await oneService(stage, proxy, name));
      if (index % 10 === 0) say(`proxy: ${index} of ${services.length}`);
    }
    return [rowOf(runs)];
  } finally {
    proxy.stop();
  }
}

async function oneService(stage: Stage, proxy: ProxyStandIn, name: string): Promise<Proxied> {
  const { cluster, namespace, routes, feed, receiver } = stage;
  const before = await routes.count();
  routes.begin();
  const startedAt = nowMs();
  await cluster.addService({ namespace, name });
  const { address } = await feed.when(name);
  const arrivedAt = await receiver.arrival(`${address}/32`, { sinceMs: startedAt });
  const servedAt = await untilValue(
    `rules for ${address}`,
    () => proxy.servedSince(address),
    (since) => since !== undefined,
  );
  await delay(randomInt(50, 1500));
  await cluster.api.delete(inNamespace(SERVICES, namespace), name);
  await routes.next('withdrawn', before);
  return { createdMs: arrivedAt - startedAt, marginMs: arrivedAt - (servedAt ?? 0) };
}

function rowOf(runs: readonly Proxied[]): Row {
  const created = runs.map((run) => run.createdMs);
  const margins = runs.map((run) => run.marginMs);
  const early = margins.filter((margin) => margin < 0);
  const worst = early.length === 0 ? '' : `, by up to ${ms(-Math.min(...early))}`;
  return {
    work: `the same beside a stand-in for kube-proxy (rules at most once a second), ${runs.length} runs: routes before the rules`,
    anchor: NO_ANCHOR,
    target: '0',
    measured: `${early.length}${worst}; created → route p50 ${ms(p50(created))}, p99 ${ms(p99(created))}`,
    verdict: verdictOf(early.length === 0),
    samples: { created, margins },
  };
}
