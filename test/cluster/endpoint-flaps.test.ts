/** A pod whose readiness flaps, and what nodes and routers see of it: writes of the claim at the API, routes in BIRD. Agent and controller are the program itself. */

import { join } from 'node:path';
import { expect } from 'chai';
import { ANNOTATION } from '../../src/model/names.ts';
import type { KubeObject } from '../../src/sources/kube/api.ts';
import { IP_CLAIMS, inNamespace, SERVICES } from '../../src/sources/kube/resources.ts';
import { passes, untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { startAgent } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
const VIP = '198.51.100.7';
const SHARED = '198.51.100.9';
const PATIENT = { timeoutMs: 120_000 };
const FLAPS = 40;

describe('a pod that flaps', function () {
  this.timeout(480_000);
  let cluster: Cluster;
  let bird: BirdRouter;
  const runs: HeraldRun[] = [];

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.applyKustomization(BASE);
    bird = await startBird({ folder: cluster.folder });
    await cluster.addNode('a');
    await cluster.applyObjects(loopbackPeer('bird', bird, ['a']), poolBody('vips', [`${VIP}/32`]));
    runs.push(await startAgent({ cluster, node: 'a' }));
    runs.push(
      startHerald(['controller', '--metrics-address=off'], {
        name: 'controller',
        folder: cluster.folder,
        kubeconfig: cluster.kubeconfig,
      }),
    );
  });

  after(async () => {
    await Promise.all(runs.map((each) => each.kill()));
    await bird?.kill();
    await cluster?.stop();
  });

  const route = (wanted: boolean, address = VIP) =>
    untilValue(
      wanted ? 'a route' : 'no route',
      () => bird.has(`${address}/32`),
      (has) => has === wanted,
      PATIENT,
    );
  const claim = () => cluster.api.get(IP_CLAIMS, VIP);
  const isOut = (object: KubeObject) => at(object, 'spec', 'withdrawn') !== undefined;

  it('is withdrawn at once, announced again some seconds later, and costs few writes (C17)', async () => {
    const namespace = await cluster.namespace();
    const web = { namespace, name: 'web' };
    await cluster.setEndpoints(web, 1);
    await cluster.addService(web);
    await route(true);

    // each change of the claim is one that every node hears and tells its routers
    const changes: boolean[] = [];
    let version = (await claim()).metadata.generation;
    const look = async () => {
      const now = await claim();
      if (now.metadata.generation === version) return;
      // what came between two looks was a change each
      const missed = (now.metadata.generation ?? 0) - (version ?? 0) - 1;
      changes.push(...Array.from({ length: missed }, () => !isOut(now)), isOut(now));
      version = now.metadata.generation;
    };
    for (let flap = 0; flap < FLAPS; flap += 1) {
      await cluster.setEndpoints(web, 0);
      await passes(60);
      await look();
      await cluster.setEndpoints(web, 1);
      await passes(60);
      await look();
    }
    expect(changes.length, 'the first flap is told').to.be.greaterThan(1);
    // undamped it is two per flap: eighty
    expect(changes.length).to.be.below(10);

    const held = await untilValue(
      'the Service is told',
      async () => {
        const service = await cluster.api.get(inNamespace(SERVICES, namespace), 'web');
        return JSON.stringify(conditionOf(service, 'herald.dev/Advertised') ?? {});
      },
      (text) => text.includes('Withdrawn'),
      PATIENT,
    );
    expect(held).to.match(/announced again at \d{4}-\d\d-\d\dT[\d:]+Z at the earliest/);
    await route(true);
    await cluster.setEndpoints(web, 0);
    await route(false);
  });

  it('of one tenant does not keep away the Service of another that shares its address', async () => {
    const flapping = { namespace: await cluster.namespace('flapping'), name: 'flaps' };
    const victim = { namespace: await cluster.namespace('victim'), name: 'web' };
    const shareAcross = [flapping.namespace, victim.namespace];
    await cluster.applyObjects(
      poolBody('shared', [`${SHARED}/32`], { autoAssign: false, shareAcross }),
    );
    const annotations = { [ANNOTATION.addresses]: SHARED, [ANNOTATION.share]: 'word' };
    await cluster.setEndpoints(victim, 1);
    await cluster.addService({ ...victim, annotations });
    await route(true, SHARED);
    await cluster.addService({ ...flapping, annotations, ports: [{ port: 81 }] });
    const claimed = async () => {
      const { spec } = JSON.parse(JSON.stringify(await cluster.api.get(IP_CLAIMS, SHARED)));
      return spec;
    };
    await untilValue(
      'both have it',
      async () => (await claimed()).services.length,
      (count) => count === 2,
      PATIENT,
    );
    await cluster.setEndpoints(victim, 0);
    await route(false, SHARED);
    const words = async () => (await claimed()).withdrawn?.reason ?? '';
    // until what comes next waits for 20 s at the least
    for (let flap = 0; flap < 40 && !(await words()).includes(' 3 times'); flap += 1) {
      await cluster.setEndpoints(flapping, 1);
      await passes(400);
      await cluster.setEndpoints(flapping, 0);
      await passes(400);
    }
    expect(await words()).to.include(' 3 times');
    const startedMs = performance.now();
    await cluster.setEndpoints(victim, 1);
    await route(true, SHARED);
    expect(performance.now() - startedMs).to.be.below(10_000);
  });
});
