/**
 * The address of an exclusive claim whose former holder is cut off from the API and still announces it: judged in BIRD's own table. Agents and
 * controller are the program itself.
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { isNotFound, type KubeObject } from '../../src/sources/kube/api.ts';
import { IP_CLAIMS, IP_NODES, inNamespace, SERVICES } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { agentKubeconfig, ipNodeOf, startAgent } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer, nodeSource } from './support/loopback.ts';
import { holderOf } from './support/placement-world.ts';
import { type FailingProxy, startProxy } from './support/proxy.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
const VIP = '198.51.100.7';
const ANYCAST_VIP = '198.51.100.8';
const NODES = ['a', 'b'];
const PATIENT = { timeoutMs: 120_000 };

describe('the quarantine of an exclusive address', function () {
  this.timeout(480_000);
  let cluster: Cluster;
  let proxy: FailingProxy;
  let bird: BirdRouter;
  const runs: HeraldRun[] = [];

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.applyKustomization(BASE);
    proxy = await startProxy(cluster);
    bird = await startBird({ folder: cluster.folder });
  });

  afterEach(async function () {
    if (this.currentTest?.state !== 'failed') return;
    for (const each of runs) process.stderr.write(`--- ${each.name}\n${each.log().slice(-3000)}`);
  });

  after(async () => {
    await Promise.all(runs.map((each) => each.kill()));
    await bird?.kill();
    await proxy?.stop();
    await cluster?.stop();
  });

  const announcers = async (vip = VIP) =>
    (await bird.routes(`${vip}/32`))
      .map(({ from }) => NODES.find((_, index) => nodeSource(index) === from) ?? from)
      .sort()
      .join();
  const announcedBy = (wanted: string, vip = VIP) =>
    untilValue(
      `${vip} is announced by '${wanted}'`,
      () => announcers(vip),
      (found) => found === wanted,
      PATIENT,
    );

  async function claim(vip = VIP): Promise<KubeObject | undefined> {
    try {
      return await cluster.api.get(IP_CLAIMS, vip);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  it('lasts until a holder that was cut off and replaced has left, though the Service is deleted meanwhile', async () => {
    for (const node of NODES) await cluster.addNode(node);
    await cluster.applyObjects(
      loopbackPeer('bird', bird, NODES),
      poolBody('vips', [`${VIP}/32`], {
        placement: { mode: 'exclusive', nodeFilter: 'first-alive' },
      }),
    );
    const kubeconfig = proxy.kubeconfig(await agentKubeconfig(cluster, 'a'));
    runs.push(await startAgent({ cluster, node: 'a', kubeconfig }));
    runs.push(await startAgent({ cluster, node: 'b' }));
    runs.push(
      startHerald(['controller', '--metrics-address=off'], {
        name: 'controller',
        folder: cluster.folder,
        kubeconfig: cluster.kubeconfig,
      }),
    );
    // the first that lives is a, as soon as both are known to
    await untilValue(
      'both agents live',
      async () => await cluster.api.list(IP_NODES),
      ({ items }) => items.filter(isAlive).length === NODES.length,
      PATIENT,
    );
    const namespace = await cluster.namespace();
    await cluster.setEndpoints({ namespace, name: 'web' }, 1);
    await cluster.addService({ namespace, name: 'web' });
    await announcedBy('a');

    await proxy.refuse();
    await announcedBy('a,b');
    await untilValue(
      'b holds it',
      claim,
      (now) => now !== undefined && holderOf(now) === 'b',
      PATIENT,
    );
    const held = await claim();

    await cluster.api.delete(inNamespace(SERVICES, namespace), 'web');
    await announcedBy('a');
    await untilValue(
      'b has confirmed it',
      async () => {
        const version = BigInt((await claim())?.metadata.resourceVersion ?? 0);
        return BigInt((await ipNodeOf(cluster, 'b'))?.status.observedClaims ?? 0) >= version;
      },
      (isSo) => isSo,
      PATIENT,
    );
    // nobody is behind it: whoever announces the address then still means the Service that is gone
    await cluster.addService({ namespace, name: 'next' });
    await untilValue(
      'the next one waits',
      async () => at(await cluster.api.get(inNamespace(SERVICES, namespace), 'next'), 'status'),
      (status) => JSON.stringify(status).includes('PoolExhausted'),
      PATIENT,
    );
    expect((await claim())?.metadata.uid, 'the same claim').to.equal(held?.metadata.uid);
    expect(await announcers()).to.equal('a');

    await proxy.accept();
    await untilValue(
      'it is given to the next one',
      claim,
      (now) => now !== undefined && now.metadata.uid !== held?.metadata.uid,
      PATIENT,
    );
    expect(await announcers(), 'nobody announces it any more').to.equal('');
  });

  it('lasts as long where a person deletes the claim that is in it', async () => {
    await cluster.applyObjects(poolBody('anycast', [`${ANYCAST_VIP}/32`]));
    const namespace = await cluster.namespace();
    const annotations = { 'herald.dev/addresses': ANYCAST_VIP };
    const services = inNamespace(SERVICES, namespace);
    const saidOfNext = (words: string) =>
      untilValue(
        `the next one reads '${words}'`,
        async () => JSON.stringify(at(await cluster.api.get(services, 'next'), 'status')),
        (status) => status.includes(words),
        PATIENT,
      );
    await cluster.setEndpoints({ namespace, name: 'web' }, 2);
    await cluster.addService({ namespace, name: 'web', annotations });
    await announcedBy('a,b', ANYCAST_VIP);
    await proxy.refuse();
    await cluster.api.delete(services, 'web');
    await cluster.setEndpoints({ namespace, name: 'next' }, 0);
    await cluster.addService({ namespace, name: 'next', annotations });
    await saidOfNext(`${ANYCAST_VIP} was given back`);
    await cluster.api.delete(IP_CLAIMS, ANYCAST_VIP);
    await saidOfNext(`the claim of ${ANYCAST_VIP} was deleted`);
    await announcedBy('a', ANYCAST_VIP);
    expect(await claim(ANYCAST_VIP)).to.equal(undefined);

    await proxy.accept();
    await untilValue(
      'it is given to the next one',
      () => claim(ANYCAST_VIP),
      (now) => now !== undefined,
      PATIENT,
    );
    expect(await announcers(ANYCAST_VIP), 'nobody announces it any more').to.equal('');
  });
});

const isAlive = (node: KubeObject): boolean =>
  at(conditionOf(node, 'AgentAlive'), 'status') === 'True';
