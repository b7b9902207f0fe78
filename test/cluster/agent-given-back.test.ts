/**
 * An agent that is started while its node cannot reach the API, after a stop that the controller
 * has read, and after one that it has not: which addresses stand in BIRD's own table, and whether
 * others have been given them.
 */

import { expect } from 'chai';
import { isNotFound, type KubeObject } from '../../src/sources/kube/api.ts';
import { IP_CLAIMS, inNamespace, SERVICES } from '../../src/sources/kube/resources.ts';
import { claimBody } from '../support/fake-agents.ts';
import { untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { agentKubeconfig, ipNodeOf, startAgent, untilSessionUp } from './support/agent-run.ts';
import { at } from './support/cluster.ts';
import { FullRun, PATIENT } from './support/full-run.ts';
import { nodeSource } from './support/loopback.ts';
import { type FailingProxy, startProxy } from './support/proxy.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const NODES = ['a', 'b'];
const VIP = '198.51.100.7';
const BY_HAND = '198.51.100.9';

describe('an agent that starts without the API', function () {
  this.timeout(300_000);
  let world: FullRun;
  let proxy: FailingProxy;
  let kubeconfig: string;
  let first: KubeObject | undefined;
  const tenants: string[] = [];

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(NODES);
    const { cluster } = world;
    proxy = await startProxy(cluster);
    kubeconfig = proxy.kubeconfig(await agentKubeconfig(cluster, 'a'));
    await cluster.applyObjects(poolBody('vips', [`${VIP}/32`]));
    await world.controller('one');
    await start();
    await world.agent('b');
    for (const node of NODES) await untilSessionUp({ cluster, node });
    for (const name of ['tenant-one', 'tenant-two']) tenants.push(await cluster.namespace(name));
    const [one = ''] = tenants;
    await cluster.setEndpoints({ namespace: one, name: 'web' }, 1);
    await cluster.addService({ namespace: one, name: 'web' });
    await world.heldBy(VIP, 'a b');
    first = await claim();
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(async () => {
    await proxy?.stop();
    await world?.stop();
  });

  async function start(): Promise<void> {
    world.agents.set('a', await startAgent({ cluster: world.cluster, node: 'a', kubeconfig }));
  }

  async function claim(): Promise<KubeObject | undefined> {
    try {
      return await world.cluster.api.get(IP_CLAIMS, VIP);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  const joined = async () => (await ipNodeOf(world.cluster, 'a'))?.status.joined?.open;

  it('announces nothing that the controller may have given to others since the stop, until the API answers', async () => {
    const { cluster, bird } = world;
    const [one = '', two = ''] = tenants;
    await world.agents.get('a')?.stop();
    await untilValue('the controller reads that it has stopped', joined, (is) => is === false);
    await proxy.refuse();
    await start();
    await untilValue(
      'its session is up',
      () => bird.established(),
      (names) => names.includes(nodeSource(0)),
      PATIENT,
    );
    await cluster.api.delete(inNamespace(SERVICES, one), 'web');
    await cluster.setEndpoints({ namespace: two, name: 'next' }, 1);
    await cluster.addService({ namespace: two, name: 'next' });
    await untilValue(
      'another tenant has the address',
      claim,
      (now) => now !== undefined && now.metadata.uid !== first?.metadata.uid,
      PATIENT,
    );
    expect(JSON.stringify(at(await claim(), 'spec', 'services'))).to.include(`"${two}"`);
    await world.heldBy(VIP, 'b');
    await proxy.accept();
    await world.heldBy(VIP, 'a b');
  });

  it('announces as before where nobody could read that the one before it has stopped', async () => {
    await untilValue('the controller reads that it has joined', joined, (is) => is === true);
    await proxy.refuse();
    await world.agents.get('a')?.stop();
    await world.heldBy(VIP, 'b');
    expect(await joined()).to.equal(true);
    await start();
    await world.heldBy(VIP, 'a b');
  });

  it('keeps the address of a claim by hand from others while it announces that, though a person deletes the claim', async () => {
    const { cluster } = world;
    const [, two = ''] = tenants;
    await proxy.accept();
    await cluster.applyObjects(poolBody('more', [`${BY_HAND}/32`]));
    await cluster.api.create(IP_CLAIMS, claimBody(BY_HAND));
    await world.heldBy(BY_HAND, 'a b');
    await untilValue('the controller reads that it has joined', joined, (is) => is === true);
    await proxy.refuse();
    await cluster.api.delete(IP_CLAIMS, BY_HAND);
    await world.heldBy(BY_HAND, 'a');
    const annotations = { 'herald.dev/addresses': BY_HAND };
    await cluster.addService({ namespace: two, name: 'late', annotations });
    await untilValue(
      'the Service waits',
      async () => at(await cluster.api.get(inNamespace(SERVICES, two), 'late'), 'status'),
      (status) => JSON.stringify(status).includes('AddressQuarantined'),
      PATIENT,
    );
    expect(await world.holders(BY_HAND)).to.equal('a');
  });
});
