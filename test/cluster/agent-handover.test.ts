/** From files to the cluster and back (SEEDS E18): one agent, one session, and the machine's own address is never without a route. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { API_VERSION } from '../../src/model/names.ts';
import { BGP_PEERS, IP_CLAIMS, IP_POOLS } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import {
  type AgentRun,
  BOOT_ID,
  claim,
  NODE,
  PATIENT,
  pool,
  startAgent,
  untilNoRoute,
  untilRoute,
  VIP,
  watchRoute,
} from './agent-scenery.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const SERVED = '198.51.100.50';

describe('the hand-over from files to a cluster', function () {
  this.timeout(300_000);
  let cluster: Cluster;
  let bird: BirdRouter;
  let agent: AgentRun | undefined;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    bird = await startBird({ folder: cluster.folder });
  });
  after(async () => {
    await agent?.run.kill();
    await bird?.kill();
    await cluster?.stop();
  });
  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${agent?.run.log()}\n`);
  });

  /** as a file has it, or the API: the same session either way */
  const tor = (name: string) => ({
    apiVersion: API_VERSION,
    kind: 'BGPPeer',
    metadata: { name },
    spec: {
      address: bird.address,
      port: bird.port,
      asn: bird.asn,
      localASN: 64_512,
      multihop: 2,
      sourceAddress: '127.0.1.1',
      timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 1 },
    },
  });

  const untilSession = (name: string) =>
    untilValue(
      `the session is called ${name}`,
      async () => (await agent?.status())?.sessions.map(({ peer, state }) => `${peer} ${state}`),
      (sessions) => sessions?.join() === `${name} established`,
      PATIENT,
    );

  it('drops neither the session nor the route, whatever comes and goes in the API', async () => {
    const folder = mkdtempSync(join(cluster.folder, 'documents-'));
    const write = (name: string, document: object) =>
      writeFileSync(join(folder, `${name}.json`), JSON.stringify(document));
    write('peer', tor('tor'));
    write('pool', pool('vip', [`${VIP}/32`]));
    write('claim', claim(VIP, {}, {}));
    const args = ['--kube-proxy-check', 'none', '--join-check', 'none'];
    agent = startAgent(cluster, { source: `kube,files:${folder}`, args });
    await untilRoute(bird, `${VIP}/32`);
    const watch = watchRoute(bird, `${VIP}/32`);
    // the kinds come, then the Node, then objects: some that files have too, with other words
    await cluster.installCrds();
    await cluster.addNode(NODE, { bootID: BOOT_ID });
    await cluster.applyObjects(
      tor('router'),
      pool('services', ['198.51.100.48/28']),
      claim(SERVED, {}),
      claim(VIP, { withdrawn: { reason: 'files win' } }),
    );
    await untilRoute(bird, `${SERVED}/32`);
    // the peer goes from the file to the API: another name, the same session
    rmSync(join(folder, 'peer.json'));
    await untilSession('router');
    write('peer', tor('tor'));
    await untilSession('tor');
    for (const [resource, name] of [
      [IP_CLAIMS, VIP],
      [IP_CLAIMS, SERVED],
      [IP_POOLS, 'services'],
      [BGP_PEERS, 'router'],
    ] as const) {
      await cluster.api.delete(resource, name);
    }
    await untilNoRoute(bird, `${SERVED}/32`);
    // of the kinds that came later there may be such lines already
    const troubles = () =>
      agent?.run.lines().filter(({ event, level }) => event === 'kube.retry' && level === 'warn');
    const before = troubles()?.length ?? 0;
    await cluster.servers[0]?.stop();
    await untilValue(
      'it logs that the API is away',
      () => troubles()?.length ?? 0,
      (count) => count > before,
      PATIENT,
    );
    const { looks, absent } = await watch.end();
    expect(absent).to.equal(0);
    expect(looks).to.be.above(100);
    const downs = agent.run.lines().filter(({ event }) => event === 'bgp.down');
    expect(downs).to.deep.equal([]);
    // and only the file takes it away
    rmSync(join(folder, 'claim.json'));
    await untilNoRoute(bird, `${VIP}/32`);
  });
});
