/** Routers that may still have the routes when the agent starts anew: what one process knows of them the next one knows, too. */

import { expect } from 'chai';
import { startKubeReport } from '../../../src/agent/kube-report/kube-report.ts';
import { SAVED_VERSION, type SavedView } from '../../../src/agent/saved-view.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { nodeLabel } from '../../../src/model/names.ts';
import { LEASES } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { clusterNode } from '../controller/scenery.ts';
import { told, World } from './agent-and-router.ts';
import { claim, NODE } from './scenery.ts';

const at = (level: string) => claim({ at: '198.51.100.4', labels: { [nodeLabel(NODE)]: level } });

/** of the process before, of a router that no BGPPeer leads to; the session was lost 20 s ago */
const LOST = {
  name: 'spine',
  router: {
    key: 'spine and we',
    connection: '192.0.2.2:40000 192.0.2.77:179',
    address: '192.0.2.77:179',
    asn: 64_500,
    localAsn: 64_512,
  },
  sinceMs: new ManualClock().wallTimeMs() - 20_000,
  seconds: 24,
};

function worldAfter(lost: SavedView['lost']) {
  const views: SavedView[] = [];
  const saved: SavedView = {
    version: SAVED_VERSION,
    savedAtMs: LOST.sinceMs,
    routerId: 7,
    claimDrains: [],
    documents: told([at('0')]),
    cluster: { node: clusterNode(NODE, { bootId: 'b' }), readyBoot: 'b' },
    ...(lost === undefined ? {} : { lost }),
  };
  const save = (view: SavedView) => void views.push(view);
  const world = new World([], false, { store: { load: () => saved, save } });
  return { world, views };
}

describe('a router that was lost before the agent started anew', () => {
  it('is waited for: what is decided since answers for nothing until that router has forgotten', async () => {
    const { world } = worldAfter([LOST]);
    world.agent.setFenced(undefined);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.4/32 ×1', 'end']);
    world.agent.setDocuments(told([at('2')]), 'api');
    world.agent.setObservedClaims(9n);
    await world.pass(100);
    expect(world.agent.announced.observedClaims).to.equal(undefined);
    const session = world.agent.status().sessions.find(({ peer }) => peer === 'spine');
    expect(session).to.include({ state: 'removed', keptSeconds: 24 });
    expect(session?.since).to.equal(new Date(LOST.sinceMs).toISOString());
    await world.pass(6300);
    expect(world.agent.announced.observedClaims, '7 s after the start').to.equal(undefined);
    let notified = 0;
    world.agent.subscribe(() => {
      notified += 1;
    });
    await world.pass(200);
    expect(notified, 'that it is over is told').to.be.above(0);
    expect(world.agent.announced.observedClaims).to.equal(9n);
  });

  it('is told to the next process, and no longer than it counts', async () => {
    const { world, views } = worldAfter([LOST]);
    await world.pass(500);
    const stopped = world.agent.stopForRestart();
    await world.pass(100);
    await stopped;
    expect(views.at(-1)?.lost).to.deep.equal([LOST]);
    const later = worldAfter([LOST]);
    await later.world.pass(7500);
    const left = later.world.agent.stop('SIGTERM');
    await later.world.pass(15_000);
    await left;
    expect(later.views.at(-1)).to.not.have.property('lost');
  });

  it('is waited for by the controller, too, if the next process never comes', async () => {
    const api = new MemoryKubeApi();
    const { world } = worldAfter([{ ...LOST, seconds: 200 }]);
    const { agent, clock } = world;
    const random = new SeededRandom(7);
    const whose = { node: NODE, instance: 'i' };
    const report = startKubeReport({ api, agent, clock, random, log: SILENT_LOG, ...whose });
    agent.setDocuments(told([at('0')]), 'api');
    agent.setNodeFacts(clusterNode(NODE, { bootId: 'b' }));
    for (let turn = 0; turn < 20; turn += 1) {
      await world.pass(100);
      await new Promise(setImmediate);
    }
    const stopping = agent.stopForRestart();
    await world.pass(100);
    await stopping;
    const ended = report.stop('restart');
    for (let turn = 0; turn < 20; turn += 1) {
      await world.pass(100);
      await new Promise(setImmediate);
    }
    await ended;
    const lease = api.object(LEASES, `herald-system/node-${NODE}`);
    const seconds = Number(lease?.metadata.annotations?.['herald.dev/restarting-seconds']);
    expect(seconds).to.be.within(178, 183);
  });
});
