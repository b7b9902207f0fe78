/**
 * Simple mode (SEEDS A5, A6, C6, C34 E1): one replica that Kubernetes starts on another node, judged in BIRD's own table, which is sampled all the
 * while. Two processes stand for the old pod and the new one; the cut is a proxy that refuses the old one the API.
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { CONTROLLER_LEASE, NAMESPACE } from '../../src/model/names.ts';
import { DAEMON_SETS, IP_CLAIMS, LEASES } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { anycastClaim, poolBody } from './support/agent-documents.ts';
import { type AgentRun, startAgent, untilIpNode } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { at, type Cluster, startCluster } from './support/cluster.ts';
import { loopbackPeer, nodeSource } from './support/loopback.ts';
import { equalPaths, noPath, PathSampler, pathsOf } from './support/path-sampler.ts';
import { type FailingProxy, startProxy } from './support/proxy.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const PREFIX = '198.51.100.0/32';
const NODES = ['a', 'b'];
const FLAGS = ['--with-controller', '--single-announcer'];
const PATIENT = { timeoutMs: 90_000 };

describe('simple mode, one replica on two nodes', function () {
  this.timeout(300_000);
  let cluster: Cluster;
  let proxy: FailingProxy;
  /** between the API and node b alone */
  let proxyOfB: FailingProxy;
  let bird: BirdRouter;
  const runs: AgentRun[] = [];

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.installCrds();
    proxy = await startProxy(cluster);
    proxyOfB = await startProxy(cluster);
    bird = await startBird({ folder: cluster.folder });
  });

  beforeEach(async () => {
    await Promise.all([proxy.accept(), proxyOfB.accept()]);
    await cluster.applyKustomization(join(DEPLOY, 'overlays/simple'));
    for (const node of NODES) await cluster.addNode(node);
    await cluster.applyObjects(
      loopbackPeer('bird', bird, NODES),
      poolBody('p', ['198.51.100.0/24'], { drain: { waitSeconds: 1 } }),
    );
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') {
      for (const each of runs) process.stderr.write(`--- ${each.name}\n${each.log().slice(-3000)}`);
    }
    await Promise.all(runs.splice(0).map((each) => each.kill()));
    await cluster.reset();
  });

  after(async () => {
    await bird?.kill();
    await proxy?.stop();
    await proxyOfB?.stop();
    await cluster?.stop();
  });

  const subject = () => ({ bird, prefix: PREFIX, nodes: NODES });

  /** `a1 b4`: node and length of its AS path */
  const paths = async () =>
    (await pathsOf(subject()))
      .map(({ node, length }) => `${node}${length}`)
      .sort()
      .join(' ');
  const untilPaths = (wanted: string) =>
    untilValue(`paths ${wanted}`, paths, (found) => found === wanted, PATIENT);
  /** whose path the router uses */
  const preferred = async () => {
    const best = (await bird.routes(PREFIX)).filter(({ isBest }) => isBest);
    return best.map(({ from }) => NODES[from === nodeSource(0) ? 0 : 1]).join(' ');
  };
  const holder = async () =>
    String(at(await cluster.api.get(LEASES, CONTROLLER_LEASE), 'spec', 'holderIdentity'));

  async function pod(node: string, by?: FailingProxy, machine = node): Promise<AgentRun> {
    const own = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald', { boundToNode: node });
    const kubeconfig = by?.kubeconfig(own) ?? own;
    const api = cluster.apiAs(own);
    await untilValue(
      'its roles are in force',
      () => api.list(IP_CLAIMS),
      () => true,
      PATIENT,
    );
    api.close();
    const run = await startAgent({ cluster, node, machine, kubeconfig, flags: FLAGS });
    runs.push(run);
    return run;
  }

  async function serve(): Promise<void> {
    const namespace = await cluster.namespace();
    await cluster.setEndpoints({ namespace, name: 'web' }, 1);
    await cluster.addService({ namespace, name: 'web' });
  }

  /** it has joined, and its IPNode says that its session is up */
  const isUp = (node: string) =>
    untilIpNode({ cluster, node }, 'joined, with a session', ({ status }) => {
      const sessions = status.sessions ?? [];
      const isThere = sessions.some(({ state }) => state === 'Established');
      return status.joined?.open === true && isThere;
    });

  it('a pod that is cut off steps down, its successor takes over, and it withdraws when it reads of that: never two equal, never none', async () => {
    const a = await pod('a', proxy);
    await serve();
    await untilPaths('a1');
    await pod('b');
    await isUp('b');
    const sampler = new PathSampler(subject());
    // a new address comes to the router from the leader alone: the other one has been up all the while
    expect(await paths()).to.equal('a1');
    await proxy.refuse();
    await untilPaths('a4 b1');
    expect(await holder()).to.match(/^b_/);
    await proxy.accept();
    await untilPaths('b1');
    const samples = await sampler.stop();
    expect(equalPaths(samples), 'two paths of equal preference').to.equal(undefined);
    expect(noPath(samples), 'no path at all').to.equal(undefined);
    expect(a.isRunning).to.equal(true);
  });

  it('a pod that is evicted is joined by its successor, two steps down, before it withdraws: never two equal, never none', async () => {
    const a = await pod('a');
    await serve();
    await untilPaths('a1');
    await pod('b');
    await isUp('b');
    const sampler = new PathSampler(subject());
    expect(await a.stop()).to.equal(0);
    await untilPaths('b1');
    const samples = await sampler.stop();
    const beside = samples.some(({ paths: found }) => found.length === 2);
    expect(beside, 'both at one moment').to.equal(true);
    expect(equalPaths(samples), 'two paths of equal preference').to.equal(undefined);
    expect(noPath(samples), 'no path at all').to.equal(undefined);
  });

  it('an API outage takes nothing down, neither at once nor over a restart of the process', async () => {
    const first = await pod('a', proxy);
    await serve();
    await untilPaths('a1');
    await proxy.refuse();
    await untilPaths('a4');
    await first.kill();
    await untilPaths('');
    await pod('a', proxy);
    await untilPaths('a4');
    await proxy.accept();
    await untilPaths('a1');
  });

  it('of two pods that are cut off the one that held the Lease later is preferred, over a restart of its process too: never two equal', async () => {
    await pod('a', proxy);
    await serve();
    await untilPaths('a1');
    const b = await pod('b', proxyOfB);
    await isUp('b');
    const sampler = new PathSampler(subject());
    await proxy.refuse();
    await untilPaths('a4 b1');
    await proxyOfB.refuse();
    await untilPaths('a4 b4');
    expect(await preferred()).to.equal('b');
    await b.kill();
    await untilPaths('a4');
    await pod('b', proxyOfB);
    await untilPaths('a4 b4');
    expect(await preferred()).to.equal('b');
    await Promise.all([proxy.accept(), proxyOfB.accept()]);
    await untilPaths('b1');
    const samples = await sampler.stop();
    expect(equalPaths(samples), 'two paths of equal preference').to.equal(undefined);
    expect(noPath(samples), 'no path at all').to.equal(undefined);
  });

  it('does nothing, and says why, while the DaemonSet of another overlay exists', async () => {
    await cluster.applyKustomization(join(DEPLOY, 'overlays/single-node'));
    await cluster.applyObjects(anycastClaim('198.51.100.0'));
    const run = await pod('a', undefined, 'new');
    await untilIpNode(
      { cluster, node: 'a' },
      'why it announces nothing, with a session',
      ({ status }) => {
        const isUpAlready = status.sessions?.some(({ state }) => state === 'Established') === true;
        const { open, message = '' } = status.joined ?? {};
        return isUpAlready && open === false && message.includes('DaemonSet');
      },
    );
    expect(await paths()).to.equal('');
    const seen = run.lines().find(({ remedy }) => remedy !== undefined);
    expect(String(seen?.['remedy'])).to.include('delete daemonset herald-agent');
    await cluster.api.delete(DAEMON_SETS, 'herald-agent');
    await untilPaths('a1');
  });
});
