/**
 * What an agent tells its cluster, on a real API server and with the rights that deploy/base gives it: its IPNode, with the words of a
 * real router in it, not more writes than were promised, one agent per node name, metrics and probes.
 */

import { join } from 'node:path';
import { createSpeaker, ipv4, prefix, routerId, type Speaker } from 'bgp-ts';
import { expect } from 'chai';
import { BGP_PEERS, IP_NODES, LEASES, NODES } from '../../src/sources/kube/resources.ts';
import { done, notYet, until, untilStill, untilValue } from '../support/poll.ts';
import { anycastClaim, EXCLUSIVE_POOL, poolBody } from './support/agent-documents.ts';
import { type AgentRun, ipNodeOf, startAgent, untilIpNode } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { AGENT_ASN, loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { rolesInForce } from './support/roles-in-force.ts';
import { freePorts } from './support/servers.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
const VIP = '198.51.100.7';
const ROUTER_ASN = 64_510;

/** A router that says goodbye in its own words. */
class TalkingRouter {
  readonly port: number;
  #speaker: Speaker | undefined;

  constructor(port: number) {
    this.port = port;
  }

  async start(): Promise<void> {
    const speaker = createSpeaker({ listen: { port: this.port, address: ipv4('127.0.0.1') } });
    await speaker.start();
    const range = prefix('127.0.0.0/8');
    const settings = {
      name: 'nodes',
      localAsn: ROUTER_ASN,
      peerAsn: AGENT_ASN,
      routerId: routerId('192.0.2.253'),
      passive: true,
      ttl: { kind: 'hops', hops: 2 },
    } as const;
    speaker.apply({ peers: [], ranges: [{ range, settings, routes: [] }] });
    this.#speaker = speaker;
  }

  async stop(text: string): Promise<void> {
    await this.#speaker?.stop({ kind: 'shutdown', text, deadlineMs: 500 });
    this.#speaker = undefined;
  }
}

describe('the report of an agent, on a real API server', function () {
  this.timeout(240_000);
  let cluster: Cluster;
  let bird: BirdRouter;
  let router: TalkingRouter;
  let agents: AgentRun[] = [];

  const start = async (...args: Parameters<typeof startAgent>): Promise<AgentRun> => {
    const run = await startAgent(...args);
    agents.push(run);
    return run;
  };
  const pathsOf = async (address: string) =>
    (await bird.routes())
      .filter(({ prefix: found }) => found === `${address}/32`)
      .map(({ from, since }) => ({ from, sinceMs: Date.parse(`${since.replace(' ', 'T')}Z`) }));
  const session = async (peer: string) =>
    (await ipNodeOf(cluster, 'n1'))?.status.sessions?.find((one) => one.peer === peer);

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.installCrds();
    await cluster.applyKustomization(BASE);
    bird = await startBird({ folder: cluster.folder });
    const [port = 0] = await freePorts(1);
    router = new TalkingRouter(port);
    await rolesInForce(cluster, 'herald-agent');
  });

  beforeEach(async () => {
    await cluster.addNode('n1');
    const talking = { address: '127.0.0.1', port: router.port, asn: ROUTER_ASN };
    await cluster.applyObjects(
      poolBody('vips', ['198.51.100.0/24']),
      loopbackPeer('bird', bird, ['n1']),
      loopbackPeer('talking', talking, ['n1']),
      anycastClaim(VIP),
    );
    await router.start();
  });

  afterEach(async () => {
    await Promise.all(agents.map((each) => each.kill()));
    agents = [];
    await router.stop('the test is over');
    await cluster.reset();
  });

  after(async () => {
    await bird?.kill();
    await cluster?.stop();
  });

  it('is there in seconds, owned by its Node, with what the sessions are', async () => {
    const mark = cluster.auditMark();
    await start({ cluster, node: 'n1' });
    const { status } = await untilIpNode(
      { cluster, node: 'n1' },
      'both sessions are up, and it has joined',
      (found) =>
        found.status.conditions?.some((one) => one.reason === 'AllUp') === true &&
        found.status.joined?.open === true,
    );
    const up = await untilIpNode(
      // numbers alone may wait for 75 s
      { cluster, node: 'n1', timeoutMs: 120_000 },
      'a route',
      (one) => one.status.routes === 1,
    );
    expect(status.joined).to.include({ open: true, reason: 'Joined' });
    expect(up.status.sessions?.map(({ peer, state }) => `${peer} ${state}`)).to.have.members([
      'bird Established',
      'talking Established',
    ]);
    const node = await cluster.api.get(NODES, 'n1');
    const found = await cluster.api.get(IP_NODES, 'n1');
    expect(found.metadata['ownerReferences']).to.deep.equal([
      { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: node.metadata.uid },
    ]);
    const refused = cluster.audit(mark).filter(({ code }) => code === 403);
    expect(refused, 'the rights of deploy/base suffice').to.deep.equal([]);
    expect((await cluster.api.list(LEASES)).items, 'no exclusive pool, no Lease').to.deep.equal([]);
  });

  it('has the words of the router within five seconds, and leaves the condition of the controller alone', async () => {
    await start({ cluster, node: 'n1' });
    await untilIpNode(
      { cluster, node: 'n1' },
      'both sessions are up',
      (found) => found.status.conditions?.some((one) => one.reason === 'AllUp') === true,
    );
    const alive = {
      type: 'AgentAlive',
      status: 'True',
      reason: 'Renews',
      message: 'it does',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const metadata = { name: 'n1' };
    const body = { apiVersion: 'herald.dev/v1alpha1', kind: 'IPNode', metadata };
    await cluster.api.patch(
      IP_NODES,
      'n1',
      { kind: 'apply', body: { ...body, status: { conditions: [alive] } } },
      { subresource: 'status', fieldManager: 'herald-controller' },
    );
    await router.stop('maintenance \u001b[31muntil noon');
    const down = await untilValue(
      'the IPNode has the words of the router',
      () => session('talking'),
      (now) => now?.lastError?.includes('until noon') === true,
      // five, and room for a machine that is busy with other tests; what may wait comes after 45
      { timeoutMs: 30_000 },
    );
    expect(down?.lastError).to.match(/^neighbour sent 6\/2: .*maintenance .*until noon/);
    expect(down?.lastError).to.not.match(/\p{Cc}/u);
    const { status } = (await ipNodeOf(cluster, 'n1')) ?? {};
    expect(status?.conditions?.find((one) => one.type === 'AgentAlive')).to.include(alive);
    expect(status?.conditions?.find((one) => one.type === 'SessionsUp')).to.include({
      status: 'False',
      reason: 'SomeDown',
    });
  });

  it('writes within its bounds while a session flaps, and nothing while all is quiet', async () => {
    await start({ cluster, node: 'n1' });
    await untilIpNode(
      { cluster, node: 'n1' },
      'it is there',
      (found) => (found.status.routes ?? 0) >= 0,
    );
    const mark = cluster.auditMark();
    const startedMs = performance.now();
    for (let turn = 0; performance.now() - startedMs < 20_000; turn += 1) {
      await untilValue(
        'the session comes back',
        () => bird.established().then(() => session('bird')),
        () => true,
      );
      await router.stop(`flap ${turn}`);
      await router.start();
      await until('a while', () =>
        performance.now() - startedMs > 2000 * (turn + 1) ? done(0) : notYet(turn),
      );
    }
    const seconds = (performance.now() - startedMs) / 1000;
    const writes = () =>
      cluster
        .audit(mark)
        .filter(({ resource, subresource }) => resource === 'ipnodes' && subresource === 'status')
        .length;
    expect(writes()).to.be.within(2, 10 + Math.ceil(seconds / 5) + 1);
    await untilIpNode(
      { cluster, node: 'n1', timeoutMs: 60_000 },
      'all is quiet again',
      (found) => found.status.conditions?.some((one) => one.reason === 'AllUp') === true,
    );
    // what is told last may be of before the last flap; an agent that has written much waits five seconds for its next write
    await untilStill('nothing is written for twelve seconds', writes, 12_000, {
      timeoutMs: 90_000,
    });
    const before = writes();
    const quietMs = performance.now();
    await until(
      'ten quiet seconds',
      () => (performance.now() - quietMs > 10_000 ? done(0) : notYet('quiet')),
      {
        timeoutMs: 15_000,
      },
    );
    expect(writes() - before).to.be.at.most(1);
  });

  it('is made anew when somebody deletes it', async () => {
    await start({ cluster, node: 'n1' });
    const first = await untilIpNode(
      { cluster, node: 'n1' },
      'it is there',
      ({ status }) => status.joined !== undefined,
    );
    await cluster.api.delete(IP_NODES, 'n1');
    await untilIpNode(
      // it looks every 30 s or so
      { cluster, node: 'n1', timeoutMs: 90_000 },
      'it is another one, and complete',
      ({ uid, status }) => uid !== first.uid && status.joined?.open === true,
    );
  });

  it('of a second machine that goes by the same name: it refuses and says why, and the first goes on', async () => {
    await start({ cluster, node: 'n1' });
    await untilIpNode(
      { cluster, node: 'n1' },
      'it is there',
      ({ status }) => status.joined?.open === true,
    );
    const before = await untilValue(
      'BIRD has its route',
      () => pathsOf(VIP),
      (paths) => paths.length === 1,
      { timeoutMs: 60_000 },
    );
    const second = await start({ cluster, node: 'n1', machine: 'clone' });
    await untilValue(
      'the second says why it is not ready',
      async () => await (await fetch(`${second.url}/readyz`)).text(),
      (text) => text.includes('two machines go by the name n1'),
      { timeoutMs: 100_000 },
    );
    const metrics = await (await fetch(`${second.url}/metrics`)).text();
    expect(metrics).to.match(/^herald_joined 0$/m);
    expect(metrics).to.match(/^herald_claims_announced 0$/m);
    expect((await ipNodeOf(cluster, 'n1'))?.status.joined?.open).to.equal(true);
    // both hear of this claim, and one of them announces it: by then the other has had its chance
    await cluster.applyObjects(anycastClaim('198.51.100.8'));
    await untilValue(
      'BIRD has the route of a claim that came later',
      () => pathsOf('198.51.100.8'),
      (paths) => paths.length === 1,
      { timeoutMs: 60_000 },
    );
    const [path, ...others] = await pathsOf(VIP);
    expect(others, 'paths of the second').to.deep.equal([]);
    expect(path?.from).to.equal(before[0]?.from);
    // a second session of the same neighbour would have brought the route anew; BIRD may be off by a millisecond
    expect(path?.sinceMs).to.be.closeTo(before[0]?.sinceMs ?? Number.NaN, 20);
  });

  it('says at its end that nothing is announced, gives its Lease back, and goes in peace', async () => {
    await cluster.applyObjects(poolBody('one', ['203.0.113.0/24'], EXCLUSIVE_POOL));
    const agent = await start({ cluster, node: 'n1' });
    await untilIpNode(
      { cluster, node: 'n1' },
      'it is there',
      ({ status }) => status.joined?.open === true,
    );
    const lease = await untilValue(
      'the Lease is renewed',
      async () => (await cluster.api.list(LEASES)).items[0],
      (found) => found !== undefined,
    );
    expect(lease?.metadata.name).to.equal('node-n1');
    expect(await agent.stop()).to.equal(0);
    await untilIpNode(
      { cluster, node: 'n1' },
      'it has left',
      ({ status }) => status.joined?.open === false,
    );
    const spec = (await cluster.api.get(LEASES, 'node-n1'))['spec'];
    expect(spec).to.have.property('holderIdentity', '');
  });

  it('its metrics tell of sessions, and forget a peer with the peer', async () => {
    const agent = await start({ cluster, node: 'n1' });
    const scrape = async () => (await (await fetch(`${agent.url}/metrics`)).text()).split('\n');
    await untilValue(
      'both sessions are up',
      scrape,
      (lines) =>
        ['bird', 'talking'].every((peer) =>
          lines.includes(`herald_bgp_session_up{peer="${peer}"} 1`),
        ),
      { timeoutMs: 60_000 },
    );
    // the View that the node saved brings sessions up before the first list is answered
    await untilValue('the metrics tell of route, gate and lists', scrape, (lines) =>
      [
        'herald_bgp_routes_sent{peer="bird",family="ipv4"} 1',
        'herald_joined 1',
        'herald_api_requests_total{verb="list"',
      ].every((start) => lines.some((line) => line.startsWith(start))),
    );
    await untilValue(
      'the agent is ready',
      async () => (await fetch(`${agent.url}/readyz`)).status,
      (status) => status === 200,
    );
    expect((await fetch(`${agent.url}/livez`)).status).to.equal(200);
    await cluster.api.delete(BGP_PEERS, 'talking');
    await untilValue(
      'the peer is forgotten',
      scrape,
      (all) => !all.some((line) => line.includes('talking')),
    );
  });
});
