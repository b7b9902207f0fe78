/** All parts of the harness together: a real agent on loopback, told by the cluster, seen by both routers. */

import { join } from 'node:path';
import { expect } from 'chai';
import { ANYCAST_LABEL, API_VERSION } from '../../src/model/names.ts';
import { IP_CLAIMS } from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { untilValue } from '../support/poll.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer, nodeSource } from './support/loopback.ts';
import { type ReceivingRouter, startReceivingRouter } from './support/receiving-router.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const NODES = ['n1', 'n2'];
const ADDRESS = '198.51.100.7';
const PREFIX = `${ADDRESS}/32`;
/** the pool's routes leave at once */
const POOL = {
  apiVersion: API_VERSION,
  kind: 'IPPool',
  metadata: { name: 'p' },
  spec: { addresses: ['198.51.100.0/24'], drain: { waitSeconds: 0 } },
};

describe('agents on loopback', () => {
  let cluster: Cluster;
  let bird: BirdRouter;
  let receiver: ReceivingRouter;
  let agents: HeraldRun[] = [];

  before(async function start() {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.installCrds();
    bird = await startBird({ folder: cluster.folder });
    receiver = await startReceivingRouter();
    for (const node of NODES) await cluster.addNode(node);
    await cluster.applyObjects(
      loopbackPeer('bird', bird, NODES),
      loopbackPeer('receiver', receiver, NODES),
      POOL,
    );
  });

  after(async () => {
    await Promise.all(agents.map((agent) => agent.kill()));
    await bird?.kill();
    await receiver?.stop();
    await cluster?.stop();
  });

  it('two nodes announce a claim, and both routers have both paths', async () => {
    agents = NODES.map((node) => {
      const own = ['--state-dir', join(cluster.folder, node), '--kube-proxy-check', 'none'];
      const socket = ['--socket', join(cluster.folder, `${node}.sock`)];
      const args = ['agent', '--source', 'kube', '--node-name', node, ...own, ...socket];
      const { folder, kubeconfig } = cluster;
      return startHerald(args, { name: `agent-${node}`, folder, kubeconfig });
    });
    await receiver.waitFor('two sessions', () => receiver.established.length === 2, 60_000);
    const sources = NODES.map((_, index) => nodeSource(index));
    expect(receiver.established).to.deep.equal(sources);
    const createdAt = nowMs();
    await cluster.api.create(IP_CLAIMS, {
      apiVersion: API_VERSION,
      kind: 'IPClaim',
      metadata: { name: ADDRESS, labels: { [ANYCAST_LABEL]: '' } },
      spec: { pool: 'p' },
    });
    for (const peer of sources) {
      const arrivedAt = await receiver.arrival(PREFIX, { peer, sinceMs: createdAt });
      expect(arrivedAt).to.be.greaterThan(createdAt);
    }
    const paths = await untilValue(
      'BIRD has both paths',
      () => bird.routes(PREFIX),
      (routes) => routes.length === 2,
    );
    expect(paths.map(({ from }) => from).sort()).to.deep.equal(sources);
    await cluster.api.delete(IP_CLAIMS, ADDRESS);
    for (const peer of sources) await receiver.departure(PREFIX, { peer });
  });
});
