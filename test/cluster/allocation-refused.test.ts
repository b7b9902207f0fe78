/** Writes for Services that a real API server refuses for good: by the admission plugin that denies external IPs. */

import { expect } from 'chai';
import { ANNOTATION } from '../../src/model/names.ts';
import { untilValue } from '../support/poll.ts';
import { type Allocator, Bench, startAllocator } from './support/allocation.ts';
import { at, type Cluster, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

describe('a cluster that denies external IPs', () => {
  let cluster: Cluster;
  let allocator: Allocator | undefined;

  before(async function start() {
    this.timeout(120_000);
    skipWithoutCluster(this);
    cluster = await startCluster({
      flags: ['--enable-admission-plugins=DenyServiceExternalIPs'],
    });
    await cluster.installCrds();
  });

  after(async () => {
    allocator?.stop();
    await cluster?.stop();
  });

  it('has its words in the condition of a Service that asks for one, and in one event', async () => {
    const bench = new Bench(cluster, await cluster.namespace('denied'));
    await bench.pool('lab', ['192.0.2.0/29'], { allowExternalIPs: true });
    allocator = await startAllocator(cluster.kubeconfig);
    const spec = { type: 'ClusterIP', loadBalancerClass: undefined };
    await bench.service('web', { spec, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    const message = await bench.says('web', 'WriteRefused');
    expect(message).to.match(/external IPs is denied by admission control$/);
    const { events } = allocator.run;
    const told = () =>
      events.filter(({ reason }) => reason === 'WriteRefused').map(({ message: text }) => text);
    // told when its own write is answered, which may be a moment after others see it
    await untilValue('an event', told, (texts) => texts.length > 0);
    const { resourceVersion } = (await bench.get('web')).metadata;
    // another Service is served meanwhile, and nothing more is written to this one
    await bench.service('other');
    await bench.has('other', '192.0.2.1');
    const web = await bench.get('web');
    expect(web.metadata.resourceVersion).to.equal(resourceVersion);
    expect(at(web, 'spec', 'externalIPs')).to.equal(undefined);
    expect(told()).to.deep.equal([message]);
  });
});
