/** Addresses for Services while the API fails: whatever write fails and however, the end is exact and nothing leaks. */

import { expect } from 'chai';
import { ANNOTATION } from '../../src/model/names.ts';
import { IP_CLAIMS } from '../../src/sources/kube/resources.ts';
import { done, notYet, until } from '../support/poll.ts';
import { ingressNames } from '../support/service-loops-run.ts';
import { type Allocator, Bench, startAllocator } from './support/allocation.ts';
import { at, type Cluster, startCluster } from './support/cluster.ts';
import { type FailingProxy, startProxy } from './support/proxy.ts';
import type { Fault } from './support/proxy-rules.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

describe('addresses for Services while the API fails', () => {
  let cluster: Cluster;
  let proxy: FailingProxy;
  let bench: Bench;
  let allocators: Allocator[] = [];

  before(async function start() {
    this.timeout(120_000);
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.installCrds();
    proxy = await startProxy(cluster);
  });

  beforeEach(async () => {
    bench = new Bench(cluster, await cluster.namespace('faults'));
  });

  afterEach(async () => {
    stop();
    proxy?.clear();
    await cluster?.reset();
  });

  after(async () => {
    await proxy?.stop();
    await cluster?.stop();
  });

  const start = async (kubeconfig = proxy.kubeconfig()): Promise<Allocator> => {
    const one = await startAllocator(kubeconfig);
    allocators.push(one);
    return one;
  };
  const stop = () => {
    for (const each of allocators) each.stop();
    allocators = [];
  };

  const faults: Readonly<Record<string, Fault>> = {
    '409': { kind: 'status', code: 409, reason: 'Conflict' },
    '500': { kind: 'status', code: 500, reason: 'InternalError' },
    'a lost request': { kind: 'drop-request' },
    'a lost answer': { kind: 'drop-response' },
  };
  const writes = [
    { verb: 'create', resource: 'ipclaims' },
    { verb: 'patch', resource: 'ipclaims' },
    { verb: 'delete', resource: 'ipclaims' },
    { verb: 'patch', resource: 'services', subresource: 'status' },
    { verb: 'patch', resource: 'services', subresource: '' },
  ];

  for (const match of writes) {
    const what = `${match.verb} ${match.resource}${match.subresource === 'status' ? '/status' : ''}`;
    for (const [name, fault] of Object.entries(faults)) {
      it(`ends exactly after ${name} at ${what}`, async () => {
        await bench.pool('lab', ['192.0.2.0/30'], { allowExternalIPs: true });
        const rule = proxy.add({ match, fault, times: 2 });
        await start();
        // create, join, leave, release, delete, status, external IPs: every write there is
        const share = { [ANNOTATION.share]: 'word' };
        await bench.service('one', { annotations: share, port: 1 });
        await bench.says('one', 'Allocated');
        await bench.service('two', { annotations: share, port: 2 });
        await bench.service('three');
        const plain = { type: 'ClusterIP', loadBalancerClass: undefined };
        await bench.service('auto', {
          spec: plain,
          annotations: { [ANNOTATION.externalIp]: 'auto' },
        });
        for (const each of ['two', 'three', 'auto']) await bench.says(each, 'Allocated');
        await bench.deleteService('one');
        await bench.deleteService('auto');
        await bench.service('four');
        await bench.says('four', 'Allocated');
        await bench.exact(3);
        expect(rule.applied).to.be.greaterThan(0);
      });
    }
  }

  it('survives a watch that is cut while Services go and come', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    await start();
    for (const name of ['a', 'b', 'c']) await bench.service(name);
    await bench.exact(3);
    proxy.add({
      match: { verb: 'watch' },
      fault: { kind: 'watch-error', code: 410, reason: 'Expired' },
      times: 20,
    });
    proxy.cut();
    await bench.deleteService('a');
    await bench.deleteService('b');
    await bench.service('b');
    await bench.exact(2);
  });

  it('holds through a failing list of pools: nothing is allocated twice', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    await start();
    await bench.service('a');
    await bench.exact(1);
    const [address = ''] = ingressNames(await bench.get('a'));
    stop();
    proxy.add({
      match: { verb: 'list', resource: 'ippools' },
      fault: { kind: 'status', code: 500, reason: 'InternalError' },
      times: 2,
    });
    await start();
    await bench.patchService('a', { metadata: { annotations: { touched: 'yes' } } });
    await bench.service('b');
    await bench.exact(2);
    await bench.has('a', address);
  });

  it('goes on where another controller was stopped, after each of its writes', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    for (let round = 0; round < 6; round += 1) {
      // the nth write is not answered any more, and the process dies
      const rule = proxy.add({
        match: { verb: ['create', 'patch', 'delete'] },
        fault: { kind: 'half-open' },
        after: round,
      });
      const dying = await startAllocator(proxy.kubeconfig());
      await bench.service(`s${round}`);
      if (round > 0) await bench.deleteService(`s${round - 1}`);
      await until(
        'it has come so far',
        () => (rule.matched > round ? done(true) : notYet(rule.matched)),
        {
          timeoutMs: 5_000,
        },
      ).catch(() => undefined);
      dying.stop();
      proxy.remove(rule);
      const next = await startAllocator(proxy.kubeconfig());
      await bench.exact(1);
      next.stop();
    }
  }).timeout(240_000);

  it('two controllers at once give 200 Services 200 addresses, and take all of them back', async function twice() {
    this.timeout(240_000);
    await bench.pool('lab', ['10.0.0.0/24']);
    await start(cluster.kubeconfig);
    await start(proxy.kubeconfig());
    const names = Array.from({ length: 200 }, (_, index) => `s${index}`);
    await Promise.all(names.map((name) => bench.service(name)));
    await bench.exact(200, 120_000);
    const half = names.filter((_, index) => index % 2 === 0);
    await Promise.all(half.map((name) => bench.deleteService(name)));
    await Promise.all(half.map((name) => bench.service(`${name}-again`)));
    await bench.exact(200, 120_000);
    await Promise.all(
      (await bench.services()).map(({ metadata }) => bench.deleteService(metadata.name)),
    );
    await bench.exact(0, 120_000);
    const { items } = await cluster.api.list(IP_CLAIMS);
    expect(items.map((claim) => at(claim, 'metadata', 'name'))).to.deep.equal([]);
  });
});
