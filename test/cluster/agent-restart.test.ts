/**
 * A planned restart of an agent (RFC 4724), by the proof that a real API server gives: its pod is deleted while its DaemonSet has a newer template. The
 * router keeps the route until the new process is there; without the proof it is gone at once.
 */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { NAMESPACE } from '../../src/model/names.ts';
import { DAEMON_SETS, inNamespace, PODS } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { anycastClaim, poolBody } from './support/agent-documents.ts';
import { type AgentRun, agentKubeconfig, startAgent } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
const VIP = '198.51.100.7';
const PREFIX = `${VIP}/32`;
const CHECKED = '198.51.100.8';
const PREFIXES = [PREFIX, `${CHECKED}/32`];
/** for so long BIRD keeps the routes of an agent that restarts */
const RESTART_SECONDS = 60;
/** made by the token of the agent */
const POD = 'herald-agent-n1';
const SETS = inNamespace(DAEMON_SETS, NAMESPACE);

describe('a planned restart of an agent, on a real API server and BIRD', function () {
  this.timeout(240_000);
  let cluster: Cluster;
  let bird: BirdRouter;
  let kubeconfig: string;
  /** what the check of a claim asks */
  const checked = createServer();
  let port = 0;
  const runs: AgentRun[] = [];

  const hasAll = async (): Promise<boolean> => {
    const found = await Promise.all(PREFIXES.map((prefix) => bird.has(prefix)));
    return found.every((has) => has);
  };

  const start = async (): Promise<AgentRun> => {
    const run = await startAgent({ cluster, node: 'n1', kubeconfig, flags: ['--pod-name', POD] });
    runs.push(run);
    await untilValue(
      'the routes are there',
      () => hasAll(),
      (has) => has,
      {
        timeoutMs: 60_000,
      },
    );
    return run;
  };

  /** BIRD reads the goodbye after the program has ended; what it kept would be there for a minute. */
  const leavesBird = () =>
    untilValue(
      'the route is withdrawn',
      () => bird.has(PREFIX),
      (has) => !has,
      { timeoutMs: RESTART_SECONDS * 500 },
    );

  /** The pod as the DaemonSet's controller would have made it. */
  const own = async (generation: string) => {
    const { metadata } = await cluster.api.get(SETS, 'herald-agent');
    const owner = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      name: 'herald-agent',
      uid: metadata.uid,
      controller: true,
    };
    const labels = { 'pod-template-generation': generation };
    const body = { metadata: { labels, ownerReferences: [owner] } };
    await cluster.api.patch(PODS, POD, { kind: 'merge', body });
  };

  const rollOut = async (): Promise<void> => {
    const annotations = { 'herald.dev/rolled': String(performance.now()) };
    const body = { spec: { template: { metadata: { annotations } } } };
    await cluster.api.patch(SETS, 'herald-agent', { kind: 'merge', body });
  };

  const generation = async () =>
    (await cluster.api.get(SETS, 'herald-agent')).metadata.annotations?.[
      'deprecated.daemonset.template.generation'
    ];

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.installCrds();
    await cluster.applyKustomization(BASE);
    bird = await startBird({ folder: cluster.folder });
    await once(checked.listen(0, '127.0.0.1'), 'listening');
    const address = checked.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  });

  beforeEach(async () => {
    await cluster.addNode('n1', { labels: { 'kubernetes.io/os': 'linux' } });
    const restart = { gracefulRestart: { restartSeconds: RESTART_SECONDS } };
    await cluster.applyObjects(
      poolBody('vips', ['198.51.100.0/24']),
      loopbackPeer('bird', bird, ['n1'], restart),
      anycastClaim(VIP),
      anycastClaim(CHECKED, { checks: [{ tcp: { host: '127.0.0.1', port } }] }),
    );
    kubeconfig = await agentKubeconfig(cluster, 'n1');
  });

  afterEach(async () => {
    await Promise.all(runs.splice(0).map((run) => run.kill()));
    await cluster.api.delete(PODS, POD).catch(() => undefined);
    await cluster.reset();
    await untilValue(
      'BIRD has forgotten',
      () => bird.has(PREFIX),
      (has) => !has,
      {
        timeoutMs: 90_000,
      },
    );
  });

  after(async () => {
    checked.close();
    await bird?.kill();
    await cluster?.stop();
  });

  it('the server counts the templates of a DaemonSet where the proof looks for it', async () => {
    const before = Number(await generation());
    expect(before).to.be.at.least(1);
    await cluster.api.patch(SETS, 'herald-agent', {
      kind: 'merge',
      body: { metadata: { labels: { other: 'x' } } },
    });
    expect(Number(await generation()), 'not a new template').to.equal(before);
    await rollOut();
    expect(Number(await generation())).to.equal(before + 1);
  });

  it('keeps the route at the router until the next process is there', async () => {
    const first = await start();
    await own((await generation()) ?? '');
    await rollOut();
    await cluster.api.delete(PODS, POD);
    expect((await cluster.api.get(PODS, POD)).metadata.deletionTimestamp).to.be.a('string');
    let gone = 0;
    let isWatching = true;
    const watching = (async () => {
      while (isWatching) {
        if (!(await hasAll())) gone += 1;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    })();
    expect(await first.stop()).to.equal(0);
    expect(first.log(), first.log().slice(-1500)).to.match(/routers keep the routes/);
    await untilValue(
      'BIRD has seen that the session is down',
      () => bird.established(),
      (up) => up.length === 0,
    );
    expect(await hasAll(), 'the routes are kept').to.equal(true);
    await start();
    await untilValue(
      'the session is up',
      () => bird.established(),
      (up) => up.length === 1,
      {
        timeoutMs: 60_000,
      },
    );
    // a stale route goes with End-of-RIB where it was not announced again
    await untilValue(
      'five more seconds',
      (() => {
        const fromMs = performance.now();
        return () => performance.now() - fromMs;
      })(),
      (passed) => passed > 5000,
    );
    isWatching = false;
    await watching;
    expect(gone, 'samples without one of the routes').to.equal(0);
  });

  it('without a newer revision it is going away: the route is withdrawn', async () => {
    const agent = await start();
    await own((await generation()) ?? '');
    await cluster.api.delete(PODS, POD);
    expect(await agent.stop()).to.equal(0);
    await leavesBird();
    expect(agent.log()).to.match(/no newer revision/);
  });

  it('a signal to a pod that nobody deletes is going away', async () => {
    const agent = await start();
    await own('0');
    expect(await agent.stop()).to.equal(0);
    await leavesBird();
    expect(agent.log()).to.match(/not being deleted/);
  });
});
