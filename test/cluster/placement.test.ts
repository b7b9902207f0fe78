/**
 * Where exclusive claims go, on a real API server (SEEDS A10, A11, C34 E12, H22, H39). The routers' side of a move is in the tests with real agents;
 * here it is what nodes are told, in which order.
 */

import { expect } from 'chai';
import { IP_NODES } from '../../src/sources/kube/resources.ts';
import { claimName, exclusivePool } from '../support/fake-agents.ts';
import { untilValue } from '../support/poll.ts';
import { conditionOf } from './support/cluster.ts';
import { startHerald } from './support/herald-run.ts';
import { PATIENT, PlacementBed } from './support/placement-bed.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

describe('placement of exclusive claims', function () {
  this.timeout(420_000);
  let bed: PlacementBed;

  before(async function start() {
    skipWithoutCluster(this);
    bed = await PlacementBed.start();
  });

  afterEach(() => bed?.endTest());
  after(() => bed?.cluster.stop());

  it('spreads 100 Services that come at once as 33, 33 and 34 (A10)', async () => {
    const world = await bed.begin();
    await world.control({ services: true });
    await bed.allLive('a', 'b', 'c');
    const namespace = await bed.cluster.namespace();
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        bed.cluster.addService({ namespace, name: `s${index}` }),
      ),
    );
    await world.settled([33, 33, 34]);
  });

  it('puts all on the first living node, and nothing flaps when it is back (A11, E12, H22)', async () => {
    const placement = { mode: 'exclusive', nodeFilter: 'first-alive' };
    const world = await bed.begin(['a', 'b', 'c'], exclusivePool('p', { placement }));
    await world.control();
    await bed.allLive('a', 'b', 'c');
    await bed.claim(12);
    await world.settled([12, 0, 0]);
    expect((await world.loads())['a']).to.equal(12);
    world.agent('a').isSilent = true;
    await untilValue(
      'all are on b',
      () => world.loads(),
      ({ b }) => b === 12,
      PATIENT,
    );
    await world.settled([12, 0, 0]);
    await bed.foundDead('a');
    const mark = bed.cluster.auditMark();
    world.agent('a').isSilent = false;
    await bed.allLive('a');
    expect(bed.movesSince(mark)).to.deep.equal([]);
  });

  it('lets a draining node step down, the new one step up, the old one leave (H39)', async () => {
    const world = await bed.begin();
    await world.control();
    await bed.allLive('a', 'b', 'c');
    await bed.claim(30);
    await world.settled([10, 10, 10]);
    const recording = await world.record();
    await world.agent('a').setDraining('by hand');
    await world.settled([0, 15, 15]);
    await bed.hasSeenTheEnd(world, recording);
    recording.stop();
    let moves = 0;
    for (const [name, states] of recording.states) {
      if (states[0] !== 'a=0') continue;
      moves += 1;
      const to = states.at(-1)?.slice(0, 1);
      expect(states, name).to.deep.equal(['a=0', 'a=2', `a=2 ${to}=0`, `${to}=0`]);
    }
    expect(moves).to.equal(10);
  });

  it('takes a claim from a holder that says that it refuses it, step by step to the one that can', async () => {
    const world = await bed.begin();
    await world.control();
    await bed.allLive('a', 'b', 'c');
    const name = claimName(0);
    for (const node of ['a', 'b']) world.agent(node).refusing.add(name);
    const recording = await world.record();
    await bed.claim(1);
    await untilValue(
      'it is with c alone',
      () => recording.states.get(name) ?? [],
      (states) => states.at(-1) === 'c=0',
      PATIENT,
    );
    recording.stop();
    const placed = recording.states.get(name)?.filter((levels) => levels !== '');
    expect(placed).to.deep.equal(['a=0', 'a=2', 'b=0', 'b=2', 'c=0']);
  });

  it('keeps AgentAlive beside what the agent writes by itself', async () => {
    const world = await bed.begin(['a']);
    await world.control();
    const now = '2026-01-01T00:00:00Z';
    const stale = {
      type: 'Stale',
      status: 'False',
      reason: 'Fresh',
      message: '',
      lastTransitionTime: now,
    };
    const apply = (conditions: readonly object[]) =>
      bed.cluster.api.patch(
        IP_NODES,
        'a',
        {
          kind: 'apply',
          body: {
            apiVersion: 'herald.dev/v1alpha1',
            kind: 'IPNode',
            metadata: { name: 'a' },
            status: { conditions },
          },
        },
        { subresource: 'status', fieldManager: 'herald-agent', force: true },
      );
    await apply([stale]);
    await bed.allLive('a');
    await apply([{ ...stale, reason: 'Other' }]);
    const ipNode = await bed.cluster.api.get(IP_NODES, 'a');
    expect(conditionOf(ipNode, 'AgentAlive')).to.include({ status: 'True' });
    expect(conditionOf(ipNode, 'Stale')).to.include({ reason: 'Other' });
  });

  it('evens out the nodes where it is told to by its flag, and not without', async () => {
    const world = await bed.begin(['a', 'b']);
    const start = (...flags: readonly string[]) =>
      startHerald(['controller', '--leader-elect=false', '--metrics-address=off', ...flags], {
        name: 'controller',
        folder: bed.cluster.folder,
        kubeconfig: bed.cluster.kubeconfig,
      });
    const plain = start();
    await bed.allLive('a', 'b');
    await bed.claim(6);
    await world.settled([3, 3]);
    await world.join('c');
    await bed.allLive('c');
    expect(await plain.stop()).to.equal(0);
    await world.settled([0, 3, 3]);
    const evening = start('--rebalance-interval', '1');
    await world.settled([2, 2, 2]);
    expect(await evening.stop()).to.equal(0);
  });
});
