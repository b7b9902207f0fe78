/** An API that is away: what runs goes on, also over a restart of the agent, and nothing flaps when it is back. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { IP_CLAIMS } from '../../src/sources/kube/resources.ts';
import { certificateOf, writeKubeconfig } from '../../tools/cluster/kubeconfig.ts';
import { Pki } from '../../tools/cluster/pki.ts';
import { untilValue } from '../support/poll.ts';
import {
  type AgentRun,
  BOOT_ID,
  claim,
  has,
  NODE,
  PATIENT,
  peer,
  pool,
  startAgent,
  untilGate,
  untilNoRoute,
  untilRoute,
  VIP,
} from './agent-scenery.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

/** A kubeconfig of a cluster that nobody has made: its own certificates, a port where nobody listens. */
function elsewhere(cluster: Cluster): string {
  const folder = join(cluster.folder, 'elsewhere');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pki = new Pki(folder);
  const credentials = certificateOf(pki.client('agent', []));
  const server = 'https://127.0.0.1:1';
  return writeKubeconfig(join(folder, 'kubeconfig'), { server, ca: pki.ca, credentials });
}

describe('the agent of a cluster without its API', function () {
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
  });
  after(async () => {
    await bird?.kill();
    await cluster?.stop();
  });

  it('keeps its routes, over a restart too, and takes up what it missed', async () => {
    const other = '198.51.100.8';
    await cluster.addNode(NODE, { bootID: BOOT_ID });
    await cluster.applyObjects(
      peer(bird),
      pool('any', ['198.51.100.0/24'], { drain: { waitSeconds: 0 } }),
      claim(VIP, {}),
      claim(other, {}),
    );
    agent = startAgent(cluster);
    await untilRoute(bird, `${VIP}/32`);
    await untilRoute(bird, `${other}/32`);
    const [server] = cluster.servers;
    await server?.stop();
    await agent.run.logged('that the API is away', ({ event }) => event === 'kube.retry', PATIENT);
    expect(await has(bird, `${VIP}/32`)).to.equal(true);
    await agent.run.kill();
    await untilNoRoute(bird, `${VIP}/32`);
    agent = startAgent(cluster, { folder: agent.folder });
    await untilRoute(bird, `${VIP}/32`);
    expect((await agent.status()).stale?.sentence).to.include('could not be read since');
    await server?.start();
    await cluster.api.delete(IP_CLAIMS, other);
    await untilNoRoute(bird, `${other}/32`);
    expect(await has(bird, `${VIP}/32`)).to.equal(true);
    await untilValue(
      'it goes by the API again',
      async () => (await agent?.status())?.stale?.sentence ?? '',
      (sentence) => sentence === '',
      PATIENT,
    );
  });

  it('announces nothing of a View that was saved in another cluster, though this one does not answer', async () => {
    const [server] = cluster.servers;
    await server?.stop();
    await agent?.run.kill();
    await untilNoRoute(bird, `${VIP}/32`);
    const folder = agent?.folder ?? '';
    // another cluster, by its certificates, and nobody at its address
    agent = startAgent(cluster, { folder, kubeconfig: elsewhere(cluster) });
    await agent.run.logged('that the API is away', ({ event }) => event === 'kube.retry', PATIENT);
    const status = await agent.status();
    expect([status.sessions, status.claims]).to.deep.equal([[], []]);
    expect(await has(bird, `${VIP}/32`)).to.equal(false);
    expect(status.warnings.join()).to.include('they are of another cluster');
    await agent.run.kill();
    // the machine comes back to the first cluster, which does not answer either: its View has been kept
    agent = startAgent(cluster, { folder });
    await untilRoute(bird, `${VIP}/32`);
    await server?.start();
  });

  it('lets go of them when it has been away for too long', async () => {
    // the same machine: one that is new would ask first whether the node is still another's
    const options = {
      ...(agent === undefined ? {} : { folder: agent.folder }),
      args: ['--kube-proxy-check', 'none', '--max-stale', '6'],
    };
    agent = startAgent(cluster, options);
    await untilRoute(bird, `${VIP}/32`);
    const [server] = cluster.servers;
    await server?.stop();
    await agent.run.kill();
    agent = startAgent(cluster, options);
    await agent.run.logged('the saved View', ({ event }) => event === 'agent.stale', PATIENT);
    // without a route it is before it has started, too
    await untilGate(agent, VIP, (sentence) => sentence.includes('that is too long ago'));
    await untilNoRoute(bird, `${VIP}/32`);
    await server?.start();
    await untilRoute(bird, `${VIP}/32`);
  });
});
