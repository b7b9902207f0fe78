/** What it costs that nobody can have a claim, counted in looks at nodes. */

import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { ControllerCaches } from '../../../src/controller/caches.ts';
import type { LivenessView } from '../../../src/controller/liveness-watch.ts';
import { PlacementLoop } from '../../../src/controller/placement-loop.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { IP_CLAIMS, IP_POOLS } from '../../../src/sources/kube/resources.ts';
import { claimBody, claimName, exclusivePool, FakeAgent } from '../../support/fake-agents.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';

const NODES = 30;
const CLAIMS = 200;

/** everybody lives; counts how often somebody asks */
class CountingLiveness implements LivenessView {
  readonly isBlind = false;
  readonly isLearning = false;
  asked = 0;
  look: () => void = () => undefined;

  lifeOf(): 'alive' {
    this.asked += 1;
    return 'alive';
  }

  isRestarting(): boolean {
    return false;
  }

  hasRenewedTwice(): boolean {
    return true;
  }

  onLook(listener: () => void): () => void {
    this.look = listener;
    return () => undefined;
  }
}

describe('claims that nobody can have', () => {
  let api: MemoryKubeApi;
  let clock: ManualClock;
  let liveness: CountingLiveness;
  let caches: ControllerCaches;
  let loop: PlacementLoop;
  let agents: readonly FakeAgent[];

  beforeEach(async () => {
    api = new MemoryKubeApi();
    clock = new ManualClock();
    liveness = new CountingLiveness();
    api.put(IP_POOLS, exclusivePool('p'));
    agents = Array.from({ length: NODES }, (_, index) => new FakeAgent(api, `n${index}`));
    for (const agent of agents) await agent.join();
    for (let index = 0; index < CLAIMS; index += 1) {
      api.put(IP_CLAIMS, claimBody(claimName(index), {}));
    }
    const base = { api, clock, random: { next: () => 0.5 }, log: SILENT_LOG };
    caches = new ControllerCaches(base);
    const events = { record: () => undefined };
    loop = new PlacementLoop({ ...base, caches, events, liveness });
  });
  afterEach(() => {
    loop.stop();
    caches.stop();
  });

  async function run(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      for (let step = 0; step < 4; step += 1) {
        for (let each = 0; each < 30; each += 1) await turn();
        clock.advance(250);
      }
      liveness.look();
    }
  }

  async function start(): Promise<void> {
    caches.start();
    caches.whenSynced(() => loop.start());
    await run(5);
  }

  const homeless = () =>
    api.all(IP_CLAIMS).filter((claim) => Object(claim['spec'])['node'] === undefined).length;
  const message = () => JSON.stringify(api.all(IP_CLAIMS)[0]?.['status']);

  it('are not asked about node by node for each of them', async () => {
    for (const agent of agents) await agent.setDraining('maintenance');
    await start();
    expect(homeless()).to.equal(CLAIMS);
    expect(message()).to.include(`${NODES} × it is draining: maintenance`);
    // all nodes a few times, and by no means all nodes for every claim
    expect(liveness.asked).to.be.below(NODES * 30);
    liveness.asked = 0;
    await run(20);
    expect(liveness.asked).to.be.at.most(NODES * 21);
  });

  it('hear of it in the same second when somebody can', async () => {
    for (const agent of agents) await agent.setDraining('maintenance');
    await start();
    await agents[0]?.setDraining(undefined);
    await run(1);
    expect(homeless()).to.equal(0);
  });

  it('are asked about once a second all together where their node is cut off', async () => {
    await start();
    for (const agent of agents) await agent.answer();
    await run(15);
    for (const agent of agents) await agent.setSessions('Active');
    await run(5);
    liveness.asked = 0;
    await run(20);
    // the look at all nodes, and nothing per claim
    expect(liveness.asked).to.be.at.most(NODES * 21);
    const at = Object(api.object(IP_CLAIMS, claimName(0))?.['spec'])['node'];
    const other = agents.find(({ name }) => name !== at);
    await other?.setSessions('Established');
    await run(8);
    expect(Object(api.object(IP_CLAIMS, claimName(0))?.['spec'])['node'], 'too soon').to.equal(at);
    await run(5);
    expect(Object(api.object(IP_CLAIMS, claimName(0))?.['spec'])['node']).to.equal(other?.name);
  });
});
