/** Nodes come and go for years, mostly under new names: nothing of those that are gone is kept. */

import { expect } from 'chai';
import type { LivenessView } from '../../../src/controller/liveness-watch.ts';
import { PlacementEndpoints } from '../../../src/controller/placement-endpoints.ts';
import { PlacementIndex } from '../../../src/controller/placement-index.ts';
import { Mover } from '../../../src/controller/placement-mover.ts';
import { PlacementNodes } from '../../../src/controller/placement-nodes.ts';
import type { PlacementSubject } from '../../../src/controller/placement-subject.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { DEFAULT_PLACEMENT } from '../../../src/model/ip-pool.ts';
import { nodeLabel } from '../../../src/model/names.ts';
import type { ClaimDemand } from '../../../src/scheduler/eligible.ts';
import { MOVE_RATE, MoveBudget } from '../../../src/scheduler/move-rate.ts';
import { IP_CLAIMS, IP_NODES, NODES } from '../../../src/sources/kube/resources.ts';
import { claimBody, claimName } from '../../support/fake-agents.ts';
import { ClusterWorld } from './cluster-world.ts';

const DEMAND: ClaimDemand = {
  placement: { ...DEFAULT_PLACEMENT, mode: 'exclusive' },
  advertisements: [],
  drainOn: [],
  ignoreExcludeLabel: false,
  notReady: 'keep',
  isForService: false,
  family: 'ipv4',
};

const LIVES: Pick<LivenessView, 'lifeOf' | 'hasRenewedTwice' | 'isRestarting'> = {
  lifeOf: () => 'alive',
  hasRenewedTwice: () => true,
  isRestarting: () => false,
};

describe('placement, of nodes that are gone', () => {
  let world: ClusterWorld;
  let nodes: PlacementNodes;
  beforeEach(async () => {
    world = new ClusterWorld();
    nodes = new PlacementNodes(world.caches, LIVES, world.clock);
    await world.sync();
    world.caches.subscribe('nodes', (name) => nodes.look(name));
    world.caches.subscribe('ipNodes', (name) => nodes.look(name));
    nodes.group('all', DEMAND);
  });
  afterEach(() => {
    world.caches.stop();
  });

  async function live(name: string): Promise<void> {
    for (const state of ['Established', 'Active', 'Established']) {
      world.node(name, { tor: state });
      await world.settle();
    }
  }

  async function die(name: string): Promise<void> {
    world.api.remove(NODES, name);
    await world.settle();
    world.api.remove(IP_NODES, name);
    await world.settle();
  }

  it('remembers nothing of them', async () => {
    await live('stays');
    for (let index = 0; index < 20; index += 1) {
      await live(`n${index}`);
      await die(`n${index}`);
    }
    nodes.lookAtAll();
    expect([...nodes.remembered]).to.deep.equal(['stays']);
    expect(nodes.group('all', DEMAND).eligible).to.deep.equal(['stays']);
  });

  it('waits for no answer of them', async () => {
    const index = new PlacementIndex();
    const mover = new Mover({
      clock: world.clock,
      log: SILENT_LOG,
      caches: world.caches,
      liveness: {
        isBlind: false,
        isLearning: false,
        ...LIVES,
        onLook: () => () => undefined,
      },
      events: world.events,
      nodes,
      index,
      endpoints: new PlacementEndpoints(),
      budget: new MoveBudget(MOVE_RATE, 0),
      requeue: () => undefined,
    });
    const subject = (node: string): PlacementSubject => {
      const labels = { [nodeLabel(node)]: '0' };
      world.api.put(IP_CLAIMS, claimBody(claimName(0), { node }, labels));
      return {
        name: claimName(0),
        ...read(),
        placement: DEMAND.placement,
        demand: DEMAND,
        group: 'all',
      };
    };
    const read = () => {
      const document = world.caches.claims.get(claimName(0));
      if (document?.ok !== true) throw new Error('no claim');
      return { meta: document.meta, claim: document.object };
    };
    world.api.put(IP_CLAIMS, claimBody(claimName(0), {}));
    await world.settle();
    for (let round = 0; round < 20; round += 1) {
      const [from, to] = [`n${round}`, `n${round + 1}`];
      await live(from);
      await live(to);
      subject(from);
      await world.settle();
      const stepsDown = { labels: { [nodeLabel(from)]: '1' }, sentence: '' };
      mover.wrote(subject(from), stepsDown, 5n);
      const leaves = {
        node: to,
        labels: { [nodeLabel(from)]: null, [nodeLabel(to)]: '0' },
        sentence: '',
      };
      mover.wrote(subject(from), leaves, 6n);
      await die(from);
    }
    mover.forget(claimName(0));
    expect([...mover.remembered]).to.deep.equal([nodeLabel('n19')]);
  });
});
