/** The harness itself: other tests believe what it says, so each thing that it offers is seen to work here, and to be able to fail. */

import { expect } from 'chai';
import { ApiError, ApiUnreachable, type Resource } from '../../src/sources/kube/api.ts';
import {
  IP_POOLS,
  inNamespace,
  NAMESPACES,
  NODES,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { done, notYet, until, untilValue } from '../support/poll.ts';
import { at, type Cluster, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps' };
const REVIEW = {
  method: 'POST',
  path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
} as const;

const pool = (name: string, finalizers: readonly string[] = []) => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'IPPool',
  metadata: { name, finalizers },
  spec: { addresses: ['192.0.2.0/24'] },
});

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it should have failed');
}

describe('a cluster for tests', () => {
  let cluster: Cluster;

  before(async function start() {
    skipWithoutCluster(this);
    cluster = await startCluster({ servers: 2 });
    await cluster.installCrds();
  });

  afterEach(() => cluster?.reset());
  after(() => cluster?.stop());

  it('shows what one server wrote to the watch of another', async () => {
    const [first, second] = cluster.servers;
    const namespace = await cluster.namespace();
    const maps = inNamespace(CONFIG_MAPS, namespace);
    const seen: string[] = [];
    const ending = new AbortController();
    const { resourceVersion } = await cluster.api.list(maps);
    const over = second?.api.watch(maps, {
      resourceVersion,
      signal: ending.signal,
      timeoutSeconds: 60,
      onEvent: (event) => {
        if (event.kind !== 'bookmark') seen.push(`${event.kind} ${event.object.metadata.name}`);
      },
    });
    await first?.api.create(maps, { metadata: { name: 'one' } });
    await first?.api.delete(maps, 'one');
    await until('the other server tells', () =>
      seen.length >= 2 ? done(true) : notYet([...seen]),
    );
    expect(seen).to.deep.equal(['added one', 'deleted one']);
    ending.abort();
    expect(await over).to.deep.equal({ kind: 'closed' });
  });

  it('forbids what no role allows, and the audit log has it', async () => {
    const namespace = await cluster.namespace();
    const kubeconfig = await cluster.serviceAccountKubeconfig(namespace, 'nobody');
    const nobody = cluster.apiAs(kubeconfig, 'nobody/1');
    const mark = cluster.auditMark();
    const error = await failure(nobody.list(SERVICES));
    expect(error).to.be.instanceOf(ApiError);
    expect(error).to.include({ status: 403, reason: 'Forbidden' });
    // the log of the server may come after its answer
    const entries = await untilValue(
      'the audit log has it',
      () => cluster.audit(mark).filter(({ userAgent }) => userAgent === 'nobody/1'),
      (found) => found.length > 0,
    );
    expect(entries).to.have.length(1);
    expect(entries[0]).to.include({
      verb: 'list',
      resource: 'services',
      user: `system:serviceaccount:${namespace}:nobody`,
      code: 403,
      decision: 'forbid',
    });
    nobody.close();
  });

  it('gives a pod on a node a token that says which node', async () => {
    await cluster.addNode('worker-1');
    const namespace = await cluster.namespace();
    const options = { boundToNode: 'worker-1' };
    const bound = await cluster.serviceAccountKubeconfig(namespace, 'agent', options);
    const unbound = await cluster.serviceAccountKubeconfig(namespace, 'agent');
    const claim = async (kubeconfig: string) => {
      const review = await cluster.apiAs(kubeconfig).call(REVIEW);
      const extra = at(review, 'status', 'userInfo', 'extra');
      return at(extra, 'authentication.kubernetes.io/node-name');
    };
    expect(await claim(bound)).to.deep.equal(['worker-1']);
    expect(await claim(unbound)).to.equal(undefined);
  });

  it('registers Nodes as a kubelet does, and changes them', async () => {
    const node = await cluster.addNode('a', {
      labels: { rack: '1' },
      bootID: 'first',
      addresses: ['10.0.0.1', 'fd00::1'],
    });
    expect(at(node, 'metadata', 'labels', 'rack')).to.equal('1');
    expect(at(node, 'spec', 'taints')).to.equal(undefined);
    expect(at(node, 'status', 'nodeInfo', 'bootID')).to.equal('first');
    const changed = await cluster.setNode('a', {
      labels: { rack: null, drained: 'yes' },
      ready: false,
      bootID: 'second',
      unschedulable: true,
    });
    expect(at(changed, 'metadata', 'labels', 'rack')).to.equal(undefined);
    expect(at(changed, 'metadata', 'labels', 'drained')).to.equal('yes');
    expect(at(changed, 'status', 'nodeInfo', 'bootID')).to.equal('second');
    expect(at(changed, 'status', 'nodeInfo', 'machineID')).to.equal('machine-a');
    expect(at(changed, 'status', 'conditions', '0', 'status')).to.equal('False');
    expect(at(changed, 'spec', 'unschedulable')).to.equal(true);
  });

  it('makes Services of our class and endpoints on the nodes', async () => {
    await cluster.addNode('a');
    await cluster.addNode('b');
    const namespace = await cluster.namespace();
    const service = await cluster.addService({
      namespace,
      name: 'web',
      spec: { externalTrafficPolicy: 'Local', ipFamilyPolicy: 'RequireDualStack' },
    });
    expect(at(service, 'spec', 'loadBalancerClass')).to.equal('herald.dev/herald');
    expect(at(service, 'spec', 'clusterIPs')).to.have.length(2);
    expect(at(service, 'spec', 'healthCheckNodePort')).to.be.greaterThan(0);
    const slice = await cluster.setEndpoints({ namespace, name: 'web' }, 3);
    const nodes = ['0', '1', '2'].map((index) => at(slice, 'endpoints', index, 'nodeName'));
    expect(nodes).to.deep.equal(['a', 'b', 'a']);
    const fewer = [{ node: 'b', ready: false, terminating: true }];
    const changed = await cluster.setEndpoints({ namespace, name: 'web' }, fewer);
    expect(at(changed, 'endpoints')).to.have.length(1);
    expect(at(changed, 'endpoints', '0', 'conditions', 'ready')).to.equal(false);
  });

  it('leaves nothing behind after a reset', async () => {
    await cluster.addNode('a');
    const namespace = await cluster.namespace();
    await cluster.addService({ namespace, name: 'web' });
    await cluster.addService({ namespace: 'default', name: 'web' });
    await cluster.setEndpoints({ namespace, name: 'web' }, 1);
    await cluster.serviceAccountKubeconfig('herald-system', 'agent', { boundToNode: 'a' });
    await cluster.api.create(IP_POOLS, pool('held', ['herald.dev/test']));
    await cluster.reset();
    const names = async (resource: Resource) =>
      (await cluster.api.list(resource)).items.map(({ metadata }) => metadata.name);
    expect(await names(IP_POOLS)).to.deep.equal([]);
    expect(await names(NODES)).to.deep.equal([]);
    expect(await names(SERVICES)).to.deep.equal(['kubernetes']);
    expect(await names({ group: '', version: 'v1', plural: 'pods' })).to.deep.equal([]);
    expect(await names(NAMESPACES)).to.not.include(namespace);
  });

  it('asks kubectl', async () => {
    await cluster.api.create(IP_POOLS, pool('first'));
    const { stdout } = await cluster.kubectl(['get', 'ippools', '-o', 'name']);
    expect(stdout).to.equal('ippool.herald.dev/first\n');
  });

  it('freezes etcd, and nothing is lost', async () => {
    await cluster.api.create(IP_POOLS, pool('before'));
    cluster.etcd.freeze();
    try {
      const write = cluster.api.create(IP_POOLS, pool('during'), { timeoutMs: 300 });
      expect(await failure(write)).to.be.instanceOf(ApiUnreachable);
    } finally {
      cluster.etcd.thaw();
    }
    // one that was refused may have been done all the same: applied, so that it can be said again
    await until('writes work again', async () => done(await cluster.applyObjects(pool('after'))));
    expect(await cluster.api.get(IP_POOLS, 'after')).to.have.property('metadata');
    expect(await cluster.api.get(IP_POOLS, 'before')).to.have.property('metadata');
  });

  it('stops a server and starts it again; the other one goes on', async () => {
    const [first, second] = cluster.servers;
    await first?.stop();
    expect(await failure(cluster.api.list(NODES))).to.be.instanceOf(ApiUnreachable);
    await second?.api.create(IP_POOLS, pool('meanwhile'));
    await first?.start();
    expect(await cluster.api.get(IP_POOLS, 'meanwhile')).to.have.property('metadata');
  });

  it('tells what the servers cost', () => {
    const { etcd, servers } = cluster.cpuSeconds();
    expect(etcd).to.be.greaterThan(0);
    expect(servers).to.have.length(2);
    expect(Math.min(...servers)).to.be.greaterThan(0);
    expect(cluster.servers[0]?.residentMegabytes()).to.be.within(50, 2_000);
  });
});
