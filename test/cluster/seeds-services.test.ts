/**
 * Services, their addresses and the router's table, with controllers and agents as deploy/base runs them (SEEDS C16, C33, C34 E3, E8 and E10).
 * Which Service gets which address is in allocation.test.ts; here it is what a router makes of it.
 */

import { expect } from 'chai';
import { ANNOTATION, nodeLabel } from '../../src/model/names.ts';
import { IP_CLAIMS } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { at } from './support/cluster.ts';
import { PATIENT } from './support/full-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { ip, ServicesRun } from './support/services-run.ts';

describe('Services in the table of a router', function () {
  this.timeout(240_000);
  let bed: ServicesRun;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    bed = await ServicesRun.start();
  });

  beforeEach(() => bed.beginTest());

  afterEach(async function () {
    await bed.endTest(this.currentTest?.state === 'failed');
  });

  after(() => bed?.world.stop());

  it('follows three Services with external IPs, one of them repeated (C33, E3)', async () => {
    await Promise.all([
      bed.external('one', 2, 3),
      bed.external('two', 2, 3, 4),
      bed.external('three', 5),
    ]);
    await bed.routed(2, 3, 4, 5);
    await bed.claimed([2, 3, 4, 5].map(ip));
    await bed.patch('three', { spec: { externalIPs: [ip(7)] } });
    await bed.routed(2, 3, 4, 7);
    await bed.remove('three');
    await bed.routed(2, 3, 4);
    await bed.remove('two');
    await bed.routed(2, 3);
    await bed.claimed([2, 3].map(ip));
  });

  it('keeps the route of an address that two Services share until the last has gone (C16)', async () => {
    const annotations = { [ANNOTATION.share]: 'web', [ANNOTATION.addresses]: ip(9) };
    await bed.add('http', { annotations, ports: [{ port: 80 }] });
    await bed.add('https', { annotations, ports: [{ port: 443 }] });
    await bed.world.heldBy(ip(9), 'a b');
    await untilValue(
      'both have it',
      async () => at(await bed.cluster.api.get(IP_CLAIMS, ip(9)), 'spec', 'services'),
      (services) => Array.isArray(services) && services.length === 2,
      PATIENT,
    );
    const sampler = bed.world.sample();
    await bed.remove('http');
    await untilValue(
      'one has it',
      async () => at(await bed.cluster.api.get(IP_CLAIMS, ip(9)), 'spec', 'services'),
      (services) => Array.isArray(services) && services.length === 1,
      PATIENT,
    );
    const samples = await sampler.stop();
    expect(samples.filter(({ paths }) => paths.get(ip(9))?.length !== 2)).to.deep.equal([]);
    await bed.remove('https');
    await bed.routed();
    await bed.claimed([]);
  });

  it('announces a claim that is addressed to a node from there, and one that is not from nowhere; its label finds it (E8)', async () => {
    const exclusive = { placement: { mode: 'exclusive' } };
    const claim = (name: string, spec: object, labels: object) => ({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'IPClaim',
      metadata: { name, labels },
      spec: { ...exclusive, ...spec },
    });
    // nobody places them but this test
    await bed.unlead();
    const sampler = bed.world.sample();
    await bed.cluster.applyObjects(claim(ip(71), {}, {}));
    // each of them comes after the one that nobody has, so each node has read that one when it announces its own
    for (const [node, last] of [
      ['a', 70],
      ['b', 72],
    ] as const) {
      await bed.cluster.applyObjects(claim(ip(last), { node }, { [nodeLabel(node)]: '0' }));
      await bed.world.heldBy(ip(last), node);
      const found = await bed.cluster.api.list(IP_CLAIMS, { labelSelector: nodeLabel(node) });
      expect(found.items.map(({ metadata }) => metadata.name)).to.deep.equal([ip(last)]);
    }
    await bed.routed(70, 72);
    const samples = await sampler.stop();
    const nodesOf = (last: number) =>
      new Set(samples.flatMap(({ paths }) => (paths.get(ip(last)) ?? []).map(({ node }) => node)));
    expect([...nodesOf(70), ...nodesOf(71), ...nodesOf(72)]).to.deep.equal(['a', 'b']);
    for (const last of [70, 71, 72]) await bed.cluster.api.delete(IP_CLAIMS, ip(last));
    await bed.routed();
  });

  it('cleans up what went while no controller ran, a shared address too: three claims, two, none (E10)', async () => {
    await Promise.all([bed.external('one', 2, 3), bed.external('two', 3, 4)]);
    await bed.routed(2, 3, 4);
    await bed.unlead();
    await bed.remove('one');
    await bed.lead('second');
    await bed.routed(3, 4);
    await bed.claimed([3, 4].map(ip));
    await bed.unlead();
    await bed.remove('two');
    await bed.lead('third');
    await bed.routed();
    await bed.claimed([]);
  });
});
