/** The agent of a cluster: what opens and closes its routes, seen in a real router behind a real API. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import { BGP_PEERS, IP_CLAIMS, NODES, SECRETS } from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { passes, untilValue } from '../support/poll.ts';
import {
  type AgentRun,
  BOOT_ID,
  claim,
  has,
  NODE,
  PATIENT,
  peer,
  pool,
  service,
  setLevel,
  startAgent,
  untilGate,
  untilNoRoute,
  untilRoute,
  VIP,
  watchRoute,
} from './agent-scenery.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const GSHUT = '65535:0';
/** long enough to be seen by a test that had to wait for a processor */
const WAIT = { drain: { waitSeconds: 6 } };
/** whoever drained would be seen for longer than a test waits */
const NO_DRAIN = { drain: { waitSeconds: 600 } };

describe('the agent of a cluster', function () {
  this.timeout(300_000);
  let cluster: Cluster;
  let bird: BirdRouter;
  let agent: AgentRun | undefined;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.installCrds();
    bird = await startBird({ folder: cluster.folder });
  });
  afterEach(async function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${agent?.run.log()}\n`);
    await agent?.run.kill();
    agent = undefined;
    await cluster?.reset();
  });
  after(async () => {
    await bird?.kill();
    await cluster?.stop();
  });

  it('announces after its Node has been Ready in this boot, and keeps that when it is not', async () => {
    await cluster.addNode(NODE, { ready: true, bootID: 'the-boot-before' });
    await cluster.applyObjects(peer(bird), pool('any', [`${VIP}/32`]), claim(VIP, {}));
    agent = startAgent(cluster);
    await untilGate(agent, VIP, (sentence) => sentence.includes('in an earlier boot'));
    await cluster.setNode(NODE, { ready: false, bootID: BOOT_ID });
    await untilGate(agent, VIP, (sentence) => sentence.includes('has not been Ready'));
    expect(await has(bird, `${VIP}/32`)).to.equal(false);
    await cluster.setNode(NODE, { ready: true });
    await untilRoute(bird, `${VIP}/32`);
    await cluster.setNode(NODE, { ready: false });
    await cluster.applyObjects(
      claim('198.51.100.8', {}),
      pool('strict', ['198.51.100.8/32'], { notReady: 'withdraw' }),
    );
    await untilGate(agent, '198.51.100.8', (sentence) => sentence.includes('notReady: withdraw'));
    expect(await has(bird, `${VIP}/32`)).to.equal(true);
    await cluster.api.delete(NODES, NODE);
    await untilNoRoute(bird, `${VIP}/32`);
  });

  it('drains on the exclude label what Services have, on a taint what the pool says', async () => {
    const [byHand, ofService, tainted] = ['198.51.100.1', '198.51.100.2', '198.51.100.3'] as const;
    await cluster.addNode(NODE, { bootID: BOOT_ID });
    await cluster.applyObjects(
      peer(bird),
      pool('plain', [`${byHand}-${ofService}`], WAIT),
      pool('tainted', [`${tainted}/32`], {
        drain: { on: ['taint:gpu', 'cordon'], waitSeconds: 1 },
      }),
      claim(byHand, {}),
      claim(ofService, { services: [service('web')] }),
      claim(tainted, { services: [service('gpu')] }),
    );
    agent = startAgent(cluster);
    for (const each of [byHand, ofService, tainted]) await untilRoute(bird, `${each}/32`);
    const label = 'node.kubernetes.io/exclude-from-external-load-balancers';
    await cluster.setNode(NODE, { labels: { [label]: '' } });
    await untilRoute(bird, `${ofService}/32`, ({ communities }) => communities.includes(GSHUT));
    await untilNoRoute(bird, `${ofService}/32`);
    for (const each of [byHand, tainted]) {
      expect((await untilRoute(bird, `${each}/32`)).communities, each).to.deep.equal([]);
    }
    await cluster.setNode(NODE, { labels: { [label]: null } });
    await untilRoute(bird, `${ofService}/32`, ({ communities }) => communities.length === 0);
    await cluster.setNode(NODE, { taints: [{ key: 'gpu', effect: 'NoSchedule' }] });
    await untilNoRoute(bird, `${tainted}/32`);
    await cluster.setNode(NODE, { taints: [] });
    await untilRoute(bird, `${tainted}/32`);
    await cluster.setNode(NODE, { unschedulable: true });
    await untilNoRoute(bird, `${tainted}/32`);
    expect(await has(bird, `${ofService}/32`)).to.equal(true);
    await cluster.setNode(NODE, {
      taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }],
    });
    await untilNoRoute(bird, `${byHand}/32`);
  });

  it('announces an exclusive claim by its label, at its level, and leaves with it', async () => {
    await cluster.addNode(NODE, { bootID: BOOT_ID });
    const placement = { mode: 'exclusive', prependStep: 2 };
    await cluster.applyObjects(
      peer(bird),
      pool('one', ['198.51.100.0/24'], { placement, ...NO_DRAIN }),
      claim(VIP, { node: NODE }, {}),
    );
    agent = startAgent(cluster);
    await agent.run.logged('in sync', ({ event }) => event === 'documents.loaded', PATIENT);
    const path = (hops: number) => Array.from({ length: hops }, () => '64512').join(' ');
    await setLevel(cluster, VIP, '0');
    // a holder that has not renewed its Lease yet is one step down
    await untilRoute(bird, `${VIP}/32`, ({ asPath }) => asPath === path(1));
    await setLevel(cluster, VIP, '1');
    await untilRoute(bird, `${VIP}/32`, ({ asPath }) => asPath === path(3));
    await setLevel(cluster, VIP, '0');
    await untilRoute(bird, `${VIP}/32`, ({ asPath }) => asPath === path(1));
    await setLevel(cluster, VIP, null);
    await untilNoRoute(bird, `${VIP}/32`);
  });

  it('never misses a beat when a claim changes from one filter to the other', async () => {
    await cluster.addNode(NODE, { bootID: BOOT_ID });
    await cluster.applyObjects(peer(bird), pool('any', ['198.51.100.0/24']), claim(VIP, {}));
    agent = startAgent(cluster);
    await untilRoute(bird, `${VIP}/32`);
    const watch = watchRoute(bird, `${VIP}/32`);
    for (let turn = 0; turn < 5; turn += 1) {
      const labels = { 'herald.dev/anycast': null, 'node.herald.dev/n1': '0' };
      await cluster.api.patch(IP_CLAIMS, VIP, { kind: 'merge', body: { metadata: { labels } } });
      await untilGate(agent, VIP, (sentence) => sentence.startsWith('placed on this node'));
      const back = { 'herald.dev/anycast': '', 'node.herald.dev/n1': null };
      await cluster.api.patch(IP_CLAIMS, VIP, {
        kind: 'merge',
        body: { metadata: { labels: back } },
      });
      await untilGate(agent, VIP, (sentence) => sentence.includes('(anycast)'));
    }
    const { looks, absent } = await watch.end();
    expect(looks).to.be.above(10);
    expect(absent).to.equal(0);
  });

  it('leaves at once what is withdrawn, and comes back', async () => {
    await cluster.addNode(NODE, { bootID: BOOT_ID });
    await cluster.applyObjects(
      peer(bird),
      pool('any', ['198.51.100.0/24'], NO_DRAIN),
      claim(VIP, { services: [service('web')] }),
    );
    agent = startAgent(cluster);
    await untilRoute(bird, `${VIP}/32`);
    const withdrawn = {
      kind: 'merge',
      body: { spec: { withdrawn: { reason: 'no endpoints' } } },
    } as const;
    await cluster.api.patch(IP_CLAIMS, VIP, withdrawn);
    await untilNoRoute(bird, `${VIP}/32`);
    await cluster.api.patch(IP_CLAIMS, VIP, { kind: 'merge', body: { spec: { withdrawn: null } } });
    await untilRoute(bird, `${VIP}/32`);
  });

  it('one bad object blocks no other, and a good form of it is taken up', async () => {
    await cluster.addNode(NODE, { bootID: BOOT_ID });
    const twin = peer(bird, {}, 'twin');
    await cluster.applyObjects(
      peer(bird),
      pool('any', ['198.51.100.0/24']),
      claim('198.51.100.9', { checks: [{ http: { url: 'http://192.0.2.99:80/' } }] }),
      claim(VIP, {}),
    );
    await cluster.applyObjects(twin);
    agent = startAgent(cluster);
    await untilRoute(bird, `${VIP}/32`);
    await untilGate(agent, '198.51.100.9', (sentence) => sentence.includes('may ask only'));
    const { faults } = await agent.status();
    expect(faults.map(({ subject }) => subject)).to.deep.equal(['BGPPeer/twin']);
    await cluster.api.delete(BGP_PEERS, 'twin');
    await untilValue(
      'no faults',
      async () => (await agent?.status())?.faults.length,
      (count) => count === 0,
      PATIENT,
    );
  });

  describe('kube-proxy', () => {
    let proxy: Server | undefined;
    let port = 0;
    let answer = { status: 503, body: '' };
    let asked = 0;

    beforeEach(async () => {
      asked = 0;
      proxy = createServer((_request, response) => {
        asked += 1;
        response.writeHead(answer.status).end(answer.body);
      });
      await new Promise<void>((resolve) => proxy?.listen(0, '127.0.0.1', resolve));
      const address = proxy.address();
      port = typeof address === 'object' && address !== null ? address.port : 0;
    });
    afterEach(() => {
      proxy?.closeAllConnections();
      proxy?.close();
    });

    it('a Local Service comes with 200, leaves with 503, and stays in silence', async () => {
      answer = { status: 503, body: '' };
      await cluster.addNode(NODE, { bootID: BOOT_ID });
      const local = claim(VIP, { services: [service('local', port)] });
      await cluster.applyObjects(peer(bird), pool('any', ['198.51.100.0/24'], NO_DRAIN), local);
      agent = startAgent(cluster);
      await untilGate(agent, VIP, (sentence) => sentence.includes('no ready endpoint'));
      expect(await has(bird, `${VIP}/32`)).to.equal(false);
      answer = { status: 200, body: '' };
      await untilRoute(bird, `${VIP}/32`);
      answer = { status: 503, body: '' };
      await untilNoRoute(bird, `${VIP}/32`);
      answer = { status: 200, body: '' };
      await untilRoute(bird, `${VIP}/32`);
      proxy?.closeAllConnections();
      await new Promise((resolve) => proxy?.close(resolve));
      const { claims } = await agent.status();
      expect(claims[0]?.gates.every(({ state }) => state === 'open')).to.equal(true);
      expect(await has(bird, `${VIP}/32`)).to.equal(true);
    });

    it('a new Service waits for the rules, by one question for all, and no longer than 5 s', async () => {
      const synced = (at: string) => JSON.stringify({ status: { IPv4: { lastUpdated: at } } });
      answer = { status: 200, body: synced('2020-01-01T00:00:00Z') };
      await cluster.addNode(NODE, { bootID: BOOT_ID });
      await cluster.applyObjects(peer(bird), pool('any', ['198.51.100.0/24']));
      agent = startAgent(cluster, {
        args: ['--kube-proxy-check', `http://127.0.0.1:${port}/healthz`],
      });
      await agent.run.logged('in sync', ({ event }) => event === 'documents.loaded', PATIENT);
      const addresses = Array.from({ length: 50 }, (_, index) => `198.51.100.${index + 100}`);
      await cluster.applyObjects(
        ...addresses.map((each) => claim(each, { services: [service('web')] })),
      );
      // the one that came last: while fifty are applied, the first may have waited long enough
      await untilGate(agent, addresses.at(-1) ?? '', (sentence) =>
        sentence.includes('has not written the rules'),
      );
      const before = asked;
      answer = { status: 200, body: synced(new Date(Date.now() + 3_600_000).toISOString()) };
      const started = nowMs();
      for (const each of addresses) await untilRoute(bird, `${each}/32`);
      expect(asked - before).to.be.below(25 + (nowMs() - started) / 40);
      answer = { status: 200, body: synced('2020-01-01T00:00:00Z') };
      // the answer of an hour ahead has been replaced: the first question may have been under way
      const sinceThen = asked;
      await untilValue(
        'asked again',
        () => asked,
        (count) => count >= sinceThen + 2,
      );
      await cluster.applyObjects(claim(VIP, { services: [service('late')] }));
      const late = nowMs();
      await untilRoute(bird, `${VIP}/32`);
      expect(nowMs() - late).to.be.above(1000);
    });

    it('after a reboot saved claims wait for the rules too, from when the Node is Ready', async () => {
      const synced = (at: string) => JSON.stringify({ status: { IPv4: { lastUpdated: at } } });
      const args = ['--kube-proxy-check', `http://127.0.0.1:${port}/healthz`];
      answer = { status: 200, body: synced(new Date(Date.now() + 3_600_000).toISOString()) };
      await cluster.addNode(NODE, { bootID: BOOT_ID });
      await cluster.applyObjects(
        peer(bird),
        pool('any', ['198.51.100.0/24']),
        claim(VIP, { services: [service('web')] }),
      );
      agent = startAgent(cluster, { args });
      await untilRoute(bird, `${VIP}/32`);
      const { folder } = agent;
      const view = join(folder, 'view.json');
      const saved = () => (existsSync(view) ? readFileSync(view, 'utf8') : '');
      await untilValue('the View is saved', saved, (text) =>
        text.includes(`"readyBoot":"${BOOT_ID}"`),
      );
      await agent.run.kill();
      await untilNoRoute(bird, `${VIP}/32`);
      // as it would be after a reboot: what was saved, and what the cluster says, are of a boot before, and the rules are gone
      writeFileSync(view, saved().replaceAll(BOOT_ID, 'the-boot-before'));
      await cluster.setNode(NODE, { ready: true, bootID: 'the-boot-before' });
      answer = { status: 200, body: synced('2020-01-01T00:00:00Z') };
      agent = startAgent(cluster, { args, folder });
      await untilGate(agent, VIP, (sentence) => sentence.includes('in an earlier boot'));
      // longer than any wait, had it begun with the claim
      await passes(6000);
      const readyMs = nowMs();
      await cluster.setNode(NODE, { ready: true, bootID: BOOT_ID });
      await untilRoute(bird, `${VIP}/32`);
      expect(nowMs() - readyMs).to.be.above(4900);
    });
  });

  it('keeps a session down until its Secret is there, and follows it', async () => {
    const guarded = await startBird({
      folder: cluster.folder,
      password: 'key-of-tor',
      range: '127.0.0.0/8',
    });
    try {
      await cluster.addNode(NODE, { bootID: BOOT_ID });
      await cluster.applyObjects(
        peer(guarded, { password: { secret: 'tor-key' } }),
        pool('any', ['198.51.100.0/24']),
        claim(VIP, {}),
      );
      agent = startAgent(cluster);
      const refused = await untilValue(
        'the session is refused',
        async () => (await agent?.status())?.sessions[0]?.refused ?? '',
        (sentence) => sentence.includes('does not exist'),
        PATIENT,
      );
      expect(refused).to.include('herald-system/tor-key');
      await cluster.api.create(SECRETS, {
        metadata: { name: 'tor-key' },
        stringData: { password: 'key-of-tor\n' },
      });
      await untilRoute(guarded, `${VIP}/32`, undefined, PATIENT);
      expect(agent.run.log()).not.to.include('key-of-tor');
    } finally {
      await guarded.kill();
    }
  });
});
