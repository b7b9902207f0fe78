/**
 * A holder that renews its Lease and cannot hear of its claims (DEFECTS C4): one of two API servers hangs, or feeds a watch no more. Its node is drained
 * meanwhile. BIRD's own table is sampled all the while: never two paths of equal preference, never none.
 */

import { expect } from 'chai';
import { nodeLabel } from '../../src/model/names.ts';
import { EVENTS, IP_CLAIMS, NODES } from '../../src/sources/kube/resources.ts';
import { claimBody } from '../support/fake-agents.ts';
import { untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { agentKubeconfig, startAgent, untilIpNode } from './support/agent-run.ts';
import type { ApiRequest } from './support/api-request.ts';
import { absentAt, equalAt, FullRun } from './support/full-run.ts';
import { type FailingProxy, startProxy } from './support/proxy.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import type { TestApi } from './support/test-api.ts';

const ALL = ['a', 'b'];
const VIP = '198.51.100.3';
const LATER = { timeoutMs: 120_000, everyMs: 50 };

describe('a holder that cannot hear of its claims', function () {
  this.timeout(300_000);
  let world: FullRun;
  /** in front of either API server, for a alone */
  let proxies: readonly FailingProxy[] = [];
  /** by the first server, which does not hang */
  let api: TestApi;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(ALL, { servers: 2 });
    const { cluster } = world;
    api = cluster.api;
    proxies = await Promise.all([0, 1].map((server) => startProxy(cluster, { server })));
    const [one, two] = proxies;
    if (one === undefined || two === undefined) throw new Error('no proxy');
    await cluster.applyObjects(
      poolBody('p', ['198.51.100.0/28'], {
        placement: { mode: 'exclusive', nodeFilter: 'first-alive' },
        drain: { on: ['cordon'], waitSeconds: 10 },
      }),
    );
    await world.controller('one');
    const kubeconfig = one.kubeconfig(await agentKubeconfig(cluster, 'a'));
    const flags = [`--api-server=${two.url}`];
    world.agents.set('a', await startAgent({ cluster, node: 'a', kubeconfig, flags }));
    await world.agent('b');
    for (const node of ALL) {
      await untilIpNode({ cluster, node }, 'the controller counts on it', ({ status }) => {
        const isAlive = status.conditions?.some(
          ({ type, status: is }) => type === 'AgentAlive' && is === 'True',
        );
        return isAlive === true && status.sessions?.[0]?.state === 'Established';
      });
    }
    await api.create(IP_CLAIMS, claimBody(VIP));
    await world.heldBy(VIP, 'a');
  });

  afterEach(function () {
    for (const server of world?.cluster.servers ?? []) server.thaw();
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(async () => {
    await Promise.all(proxies.map((each) => each.stop()));
    await world?.stop();
  });

  const cordon = (node: string, unschedulable: boolean) =>
    api.patch(NODES, node, { kind: 'merge', body: { spec: { unschedulable } } });

  /** `a4 b1`: who announces it, and how long its AS path is */
  const table = async () =>
    ((await world.paths()).get(VIP) ?? [])
      .map(({ node, length }) => `${node}${length}`)
      .sort()
      .join(' ');

  const shows = (what: string, accept: (found: string) => boolean) =>
    untilValue(what, table, accept, LATER);

  it('steps down by itself, keeps the address, and hands it over when it hears again (C4)', async () => {
    const sampler = world.sample();
    // what is open hangs, and what is opened meanwhile: it cannot go round by another watch
    const match = { verb: 'watch' };
    const rules = proxies.map((each) => each.add({ match, fault: { kind: 'half-open' } }));
    await cordon('a', true);
    // of the drain it does not hear either; deaf for 20 s it is no holder any more
    await untilValue(
      'a says that it has stepped down',
      () => world.agents.get('a')?.log() ?? '',
      (log) => log.split('agent.fence').length > 2,
      LATER,
    );
    await shows('a alone announces it, one step down', (found) => found === 'a4');
    for (const each of proxies) {
      each.clear();
      each.cut();
    }
    await shows('b holds it', (found) => found === 'b1');
    const samples = await sampler.stop();
    expect(
      rules.map(({ applied }) => applied > 0),
      'watches hung',
    ).to.include(true);
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
    expect(absentAt(samples, [VIP]), 'no path at all').to.deep.equal([]);
    await cordon('a', false);
  });

  it('is waited for while the claim is withdrawn: it may be announced again before a node hears of that', async () => {
    await cordon('b', true);
    await shows('a holds it', (found) => found === 'a1');
    await cordon('b', false);
    const withdraw = (withdrawn: object | null) =>
      api.patch(IP_CLAIMS, VIP, { kind: 'merge', body: { spec: { withdrawn } } });
    const sampler = world.sample();
    for (const each of proxies) {
      each.add({ match: { verb: 'watch' }, fault: { kind: 'half-open' } });
    }
    await cordon('a', true);
    await withdraw({ reason: 'NoEndpoints' });
    await untilValue(
      'the controller waits for a, or has moved it',
      async () => {
        const { items } = await api.list(EVENTS);
        const waits = items.some(({ ['reason']: reason }) => reason === 'NodeDoesNotAnswer');
        const { metadata } = await api.get(IP_CLAIMS, VIP);
        return waits || !(nodeLabel('a') in (metadata.labels ?? {}));
      },
      (isDone) => isDone,
      LATER,
    );
    await withdraw(null);
    await shows('a has stepped down, or b holds it, too', (found) => found !== 'a1');
    for (const each of proxies) {
      each.clear();
      each.cut();
    }
    await shows('b holds it', (found) => found === 'b1');
    expect(equalAt(await sampler.stop()), 'two paths of equal preference').to.deep.equal([]);
    await cordon('a', false);
  });

  it('hears of its drain by the other API server where one hangs, and hands the address over (C4)', async () => {
    await cordon('b', true);
    await shows('a holds it', (found) => found === 'a1');
    await cordon('b', false);
    const [one, two] = proxies;
    const isClaims = ({ verb, resource }: ApiRequest) =>
      verb === 'watch' && resource === 'ipclaims';
    await one?.refuse();
    await untilValue(
      'a watches its claims by the second server',
      () => two?.openStreams.filter(isClaims).length ?? 0,
      (count) => count > 0,
      LATER,
    );
    await one?.accept();
    const sampler = world.sample();
    world.cluster.servers[1]?.freeze();
    await cordon('a', true);
    await shows('b holds it', (found) => found === 'b1');
    const samples = await sampler.stop();
    world.cluster.servers[1]?.thaw();
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
    expect(absentAt(samples, [VIP]), 'no path at all').to.deep.equal([]);
  });
});
