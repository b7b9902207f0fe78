/**
 * One agent and one controller are enough: the others die one after the other and together, without power and frozen (SEEDS A8, A19, B3, B4, B6, B9, E11),
 * in BIRD's own table. Nodes stay Ready and pods stay Running all the while: nothing here may wait for Kubernetes to notice.
 */

import { expect } from 'chai';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { poolBody } from './support/agent-documents.ts';
import type { Cluster } from './support/cluster.ts';
import { ALL, ExclusiveRun, end, exclusive, freeze, powerOff } from './support/exclusive-run.ts';
import { equalAt, type FullRun } from './support/full-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const { HERALD_TEST_LONG = '' } = process.env;
const IS_LONG = HERALD_TEST_LONG !== '';

describe('exclusive addresses while one agent and one controller are left', function () {
  this.timeout(IS_LONG ? 1_800_000 : 600_000);
  let run: ExclusiveRun;
  let world: FullRun;
  let cluster: Cluster;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    run = await ExclusiveRun.start();
    ({ world, cluster } = run);
  });

  beforeEach(() => run.beginTest());

  afterEach(async function () {
    await run.endTest(this.currentTest?.state === 'failed');
  });

  after(() => world?.stop());

  const survivors = ALL.flatMap((node, index) =>
    ALL.map((_, shift) => ({ node, controller: ALL[(index + shift) % 3] ?? node })),
  ).filter((_, index) => IS_LONG || index === 4);

  for (const { node, controller } of survivors) {
    it(`everything is served while agent ${node} and controller ${controller} are left (A19, B3, B6, B9, E11)`, async () => {
      await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
      await run.allAtRest();
      // not how evenly, which is another test's matter
      const { length: count } = await run.serveOnAll(6);
      const agents = ALL.filter((each) => each !== node);
      const controllers = ALL.filter((each) => each !== controller);
      for (const [index, lost] of agents.entries()) {
        // a machine goes that has an agent and a controller, first without its power, then frozen
        const gone = [world.agents.get(lost), world.controllers.get(controllers[index] ?? '')];
        await (index === 0 ? powerOff(gone) : freeze(gone));
        await run.settled((loads) => agents.slice(0, index + 1).every((each) => !loads[each]));
      }
      await run.settled((loads) => loads[node] === count);
      await run.kubernetesHasNotNoticed();
      await run.remove('s0');
      await run.serve(1, 'late');
      await run.settled((loads) => loads[node] === count);
      await end(world.agents, agents);
      await end(world.controllers, controllers);
    });
  }

  /** who is left: once a whole rack of two machines goes, once a third machine has neither of the two that are left */
  const pairs = ALL.flatMap((node) => ALL.map((controller) => ({ node, controller }))).filter(
    (_, index) => IS_LONG || index === 0 || index === 5,
  );
  /** the routers' hold time of 9 s and 3 s more after a death up to 1.8 s after the last renewal; 2 × 5 s is shorter */
  const FIRST_MS = 13_900;
  /** for a machine that is busy with other tests, too */
  const BUSY_MS = IS_LONG ? 3000 : 5000;

  for (const [index, { node, controller }] of pairs.entries()) {
    const isFrozen = index % 2 === 1;
    const how = isFrozen ? 'frozen' : 'without power';
    it(`two of three agents and controllers go together, ${how}: all is with agent ${node} and controller ${controller} (B6)`, async () => {
      await end(world.agents, ALL);
      for (const each of ALL) await world.agent(each, ['--lease-duration=5']);
      await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
      await run.allAtRest();
      const addresses = await run.serveOnAll(6);
      const agents = ALL.filter((each) => each !== node);
      const controllers = ALL.filter((each) => each !== controller);
      const sampler = world.sample();
      const gone = [
        ...agents.map((each) => world.agents.get(each)),
        ...controllers.map((each) => world.controllers.get(each)),
      ];
      const deadMs = nowMs();
      await (isFrozen ? freeze(gone) : powerOff(gone));
      await run.settled((loads) => loads[node] === addresses.length);
      const samples = await sampler.stop();
      expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
      const held = ({ paths }: (typeof samples)[number]) =>
        addresses.filter((each) => (paths.get(each) ?? []).some((path) => path.node === node));
      const before = held(samples[0] ?? { atMs: 0, paths: new Map() }).length;
      const first = samples.find((each) => held(each).length > before);
      const firstMs = (first?.atMs ?? Number.POSITIVE_INFINITY) - deadMs;
      await run.kubernetesHasNotNoticed();
      // before what is judged: what is frozen would disturb the tests that follow
      await end(world.agents, ALL);
      await end(world.controllers, controllers);
      expect(firstMs, 'from the death to the first address').to.be.below(FIRST_MS + BUSY_MS);
    });
  }
});
