/** Programs in network namespaces and the cluster outside: they reach it by the same kubeconfig, as long as a test lets them. */

import { expect } from 'chai';
import { createLab, type Host, type Lab } from '../support/netns.ts';
import { untilValue } from '../support/poll.ts';
import { exposeApi } from './support/api-relay.ts';
import { startBird } from './support/bird.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { startHerald } from './support/herald-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

describe('a cluster and namespaces', () => {
  let cluster: Cluster;
  let lab: Lab;
  let host: Host;

  before(async function start() {
    skipWithoutCluster(this, { lab: true });
    cluster = await startCluster();
    lab = createLab('cluster');
    host = await lab.host('n1', { forward: false });
  });

  after(async () => {
    await lab?.destroy();
    await cluster?.stop();
  });

  it('shows the API inside, and hides it again', async () => {
    await cluster.addNode('n1');
    const kubectl = () =>
      host.exec('kubectl', ['get', 'nodes', '-o', 'name', '--request-timeout=30s'], {
        env: { KUBECONFIG: cluster.kubeconfig },
        anyStatus: true,
      });
    expect((await kubectl()).status, 'before').to.not.equal(0);
    const relay = await exposeApi(host, cluster.url);
    expect(await kubectl()).to.include({ status: 0, stdout: 'node/n1\n' });
    await relay.stop();
    expect((await kubectl()).status, 'afterwards').to.not.equal(0);
  });

  it('runs BIRD and herald inside', async () => {
    const bird = await startBird({ folder: host.folder, host, port: 179 });
    expect(await bird.established()).to.deep.equal([]);
    const own = ['--asn', '64500', '--router-id', '192.0.2.1', '--listen', '127.0.0.1:1790'];
    const herald = startHerald(['router', ...own, '--neighbor-range', '127.0.0.0/8'], {
      name: 'router',
      folder: host.folder,
      kubeconfig: cluster.kubeconfig,
      host,
    });
    const listeners = async () => (await host.exec('ss', ['-Hltn'])).stdout;
    await untilValue('both listen', listeners, (text) => /:179 /.test(text) && /:1790 /.test(text));
    expect(await herald.stop()).to.equal(0);
    await bird.stop();
  });
});
