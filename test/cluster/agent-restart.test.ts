/**
 * A planned restart of an agent (RFC 4724), by the proof that a real API server gives: its pod is deleted while its DaemonSet has a newer template. The
 * router keeps the route until the new process is there; without the proof it is gone at once.
 * The discard route of an aggregate stays as long as routers keep the aggregate.
 */

import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { NAMESPACE } from '../../src/model/names.ts';
import { DAEMON_SETS, IP_CLAIMS, inNamespace, PODS } from '../../src/sources/kube/resources.ts';
import { createLab, type Host, type Lab } from '../support/netns.ts';
import { passes, untilValue } from '../support/poll.ts';
import type { Running } from '../support/process.ts';
import { anycastClaim, poolBody } from './support/agent-documents.ts';
import { type AgentRun, agentKubeconfig, startAgent } from './support/agent-run.ts';
import { type ApiRelay, exposeApi } from './support/api-relay.ts';
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
const AGGREGATES = ['198.51.100.0/26', '2001:db8:7::/80'];
const LINK = {
  router: ['10.61.0.1', '2001:db8:61::1'],
  node: ['10.61.0.2', '2001:db8:61::2'],
} as const;

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

  // in a namespace: the kernel's table of this machine is not for a test
  describe('with aggregates', () => {
    const machine = 'aggregates';
    let lab: Lab;
    let node: Host;
    let router: BirdRouter;
    let relay: ApiRelay;

    before(async function () {
      skipWithoutCluster(this, { lab: true });
      lab = createLab('restart');
      const routerHost = await lab.host('router', { forward: true });
      node = await lab.host('n1', { forward: true });
      const onLink = ([ipv4, ipv6]: readonly [string, string]) => [`${ipv4}/24`, `${ipv6}/64`];
      await lab.link(routerHost, node, { a: onLink(LINK.router), b: onLink(LINK.node) });
      const [address] = LINK.router;
      const own = { address, port: 179, range: '10.61.0.0/24', routerId: address };
      router = await startBird({ folder: cluster.folder, host: routerHost, ...own });
      relay = await exposeApi(node, cluster.url);
    });

    beforeEach(async () => {
      const advertisements = [{ aggregationLength: { ipv4: 26, ipv6: 80 }, discardRoute: true }];
      const restart = { gracefulRestart: { restartSeconds: RESTART_SECONDS } };
      await cluster.applyObjects(
        poolBody('vips', ['198.51.100.0/24', '2001:db8:7::/64'], { advertisements }),
        loopbackPeer('bird', router, [], restart),
        anycastClaim('2001-0db8-0007-0000-0000-0000-0000-0001'),
      );
      await cluster.api.delete(IP_CLAIMS, CHECKED);
    });

    after(async () => {
      await Promise.all(runs.splice(0).map((run) => run.kill()));
      await relay?.stop();
      await router?.kill();
      await lab?.destroy();
    });

    const atRouter = async () => {
      const found = await Promise.all(AGGREGATES.map((prefix) => router.has(prefix)));
      return AGGREGATES.filter((_, index) => found[index]);
    };

    /** ours in the kernel, by their mark */
    const inKernel = async () => {
      const lists = await Promise.all(
        ['-4', '-6'].map((family) => node.exec('ip', [family, 'route', 'show', 'proto', '73'])),
      );
      return lists.flatMap(({ stdout }) =>
        [...stdout.matchAll(/^unreachable (\S+)/gm)].map(([, prefix]) => prefix),
      );
    };

    const areThere = (what: string, read: () => Promise<unknown[]>) =>
      untilValue(what, read, (all) => all.join() === AGGREGATES.join(), { timeoutMs: 60_000 });

    const isUp = (count: number) =>
      untilValue(
        `${count} sessions are up`,
        () => router.established(),
        (up) => up.length === count,
        { timeoutMs: 60_000 },
      );

    const startInside = async (): Promise<AgentRun> => {
      const flags = ['--pod-name', POD];
      const run = await startAgent({ cluster, node: 'n1', machine, kubeconfig, flags, host: node });
      runs.push(run);
      await isUp(1);
      await areThere('the aggregates at the router', atRouter);
      await areThere('the discard routes', inKernel);
      return run;
    };

    /** Returns when it has seen a removal, so that it misses none from now on. */
    async function watchKernel(): Promise<Running> {
      const marker = 'unreachable 203.0.113.254/32';
      const monitor = node.spawn(`routes-${performance.now()}`, 'ip', ['monitor', 'route']);
      await untilValue(
        'the monitor sees its marker',
        async () => {
          await node.ip(`route add ${marker}`, `route delete ${marker}`);
          return monitor.log();
        },
        (log) => log.includes('Deleted unreachable 203.0.113.254'),
      );
      return monitor;
    }

    const removals = (monitor: Running) =>
      [...monitor.log().matchAll(/^Deleted unreachable (\S+) .*proto 73 /gm)]
        .map(([, prefix = '']) => prefix)
        .toSorted();

    for (const { title, hasView } of [
      { title: 'the next process is there', hasView: true },
      { title: 'the next process is there, which has lost its saved View', hasView: false },
    ]) {
      it(`keeps them at the router and their discard routes in the kernel until ${title}`, async () => {
        const monitor = await watchKernel();
        const first = await startInside();
        await own((await generation()) ?? '');
        await rollOut();
        await cluster.api.delete(PODS, POD);
        let gone = 0;
        let isWatching = true;
        const watching = (async () => {
          while (isWatching) {
            if ((await atRouter()).length < AGGREGATES.length) gone += 1;
            await passes(10);
          }
        })();
        expect(await first.stop()).to.equal(0);
        expect(first.log(), first.log().slice(-1500)).to.match(/routers keep the routes/);
        await isUp(0);
        expect(await inKernel(), 'while there is no process').to.deep.equal(AGGREGATES);
        if (!hasView) rmSync(join(cluster.folder, `machine-${machine}`, 'view.json'));
        const second = await startInside();
        // a stale route goes with End-of-RIB where it was not announced again
        await passes(5000);
        isWatching = false;
        await watching;
        expect(gone, 'samples without one of the aggregates').to.equal(0);
        expect(removals(monitor), 'discard routes that were removed').to.deep.equal([]);
        await own((await generation()) ?? '');
        expect(await second.stop(), 'it is going away').to.equal(0);
        expect(await inKernel(), 'after a stop').to.deep.equal([]);
        await untilValue(
          'the monitor has seen them go',
          () => removals(monitor),
          (all) => all.join() === AGGREGATES.join(),
        );
        await untilValue('nothing at the router', atRouter, (all) => all.length === 0);
        await monitor.kill();
      });
    }
  });
});
