/**
 * Where a row is measured: a fresh API server and etcd, BIRD, the receiving router, one Node, and a namespace of Services. Fresh for each
 * row, so that a row alone and a row among others find the same.
 */

import { globSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LOAD_BALANCER_CLASS } from '../../../src/model/names.ts';
import { type BirdRouter, startBird } from '../../cluster/support/bird.ts';
import { type Cluster, startCluster } from '../../cluster/support/cluster.ts';
import { nodeSource } from '../../cluster/support/loopback.ts';
import {
  type ReceivingRouter,
  startReceivingRouter,
} from '../../cluster/support/receiving-router.ts';
import { type Balancer, type BalancerPlace, CommandBalancer } from './balancer.ts';
import {
  HeraldBalancer,
  type HeraldSettings,
  installHerald,
  programOf,
} from './herald-balancer.ts';
import type { BenchOptions } from './options.ts';
import { RouteClock } from './route-clock.ts';
import { ServiceFeed } from './service-feed.ts';

export interface Stage {
  readonly cluster: Cluster;
  readonly bird: BirdRouter;
  readonly receiver: ReceivingRouter;
  readonly place: BalancerPlace;
  readonly namespace: string;
  readonly feed: ServiceFeed;
  readonly routes: RouteClock;
  readonly options: BenchOptions;
  readonly say: (line: string) => void;
  /** the balancer of the command line */
  balancer(settings?: HeraldSettings): Balancer;
}

export const NODE = 'n1';
export const POOL = '198.18.0.0/15';

/** by default 2,768 Services have one each, and no more can be made */
const NODE_PORTS = '--service-node-port-range=30000-45000';

/** Runs the work on a fresh stage and clears it away, whatever comes. */
export async function onStage<T>(
  options: BenchOptions,
  say: (line: string) => void,
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const cluster = await startCluster({ audit: false, say, flags: [NODE_PORTS] });
  const ends: (() => Promise<void> | void)[] = [() => cluster.stop()];
  try {
    await cluster.installCrds(options.release?.crds);
    const birdPlace = join(cluster.folder, 'router');
    mkdirSync(birdPlace);
    const bird = await startBird({ folder: birdPlace, holdSeconds: 90 });
    ends.unshift(() => bird.kill());
    const receiver = await startReceivingRouter({ holdSeconds: 90 });
    ends.unshift(() => receiver.stop());
    await cluster.addNode(NODE);
    const namespace = await cluster.namespace('bench');
    const feed = await ServiceFeed.start(cluster.api, namespace);
    ends.unshift(() => feed.stop());
    const place = placeOf(cluster, bird, receiver, birdPlace);
    if (options.balancer === undefined) await installHerald(cluster, place, options.release);
    const made: Balancer[] = [];
    ends.unshift(async () => {
      for (const each of made) await each.stop();
    });
    const balancer = (settings: HeraldSettings = {}): Balancer => {
      const each =
        options.balancer === undefined
          ? new HeraldBalancer(cluster, place, { ...programOf(options.release), ...settings })
          : new CommandBalancer(options.balancer, place);
      made.push(each);
      return each;
    };
    const routes = new RouteClock(bird, receiver);
    return await work({
      ...{ cluster, bird, receiver, place, namespace, feed },
      ...{ routes, options, say, balancer },
    });
  } finally {
    for (const end of ends) await end();
  }
}

function placeOf(
  cluster: Cluster,
  bird: BirdRouter,
  receiver: ReceivingRouter,
  birdPlace: string,
): BalancerPlace {
  const [control = ''] = globSync('*/bird.ctl', { cwd: birdPlace });
  return {
    folder: cluster.folder,
    kubeconfig: cluster.kubeconfig,
    router: bird,
    receiver,
    birdFolder: join(birdPlace, dirname(control)),
    node: NODE,
    source: nodeSource(0),
    pool: POOL,
    loadBalancerClass: LOAD_BALANCER_CLASS,
  };
}
