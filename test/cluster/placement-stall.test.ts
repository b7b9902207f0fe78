/**
 * What happens to exclusive claims when the API stands still, on a real API server whose etcd is
 * frozen (SEEDS A15, H7): nothing moves, neither then nor after it, though one node is heard again
 * later than the others. The stall is longer than the silence that makes a node dead.
 */

import { expect } from 'chai';
import { leaseTimes } from '../../src/model/lease-times.ts';
import { exclusivePool } from '../support/fake-agents.ts';
import { passes } from '../support/poll.ts';
import { PlacementBed } from './support/placement-bed.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const REAL = leaseTimes(15);
const { HERALD_TEST_LONG = '' } = process.env;
const IS_LONG = HERALD_TEST_LONG !== '';
/**
 * The last node is heard so much later than the others. That is silence which counts: with up to
 * 5 s since its last renewal before the stall it is less than the 15 s that make it dead. Two
 * renewals of the others come before, so that there is a node to which its claims could go.
 */
const LATE_MS = 6000;

describe('placement of exclusive claims when the API stands still', function () {
  this.timeout(420_000);
  let bed: PlacementBed;

  before(async function start() {
    skipWithoutCluster(this);
    bed = await PlacementBed.start();
  });

  afterEach(() => bed?.endTest());
  after(() => bed?.cluster.stop());

  /** fewer than three nodes have no majority to go by: only that nobody is heard can spare them */
  const STALLS: readonly (readonly [number, readonly string[]])[] = IS_LONG
    ? [
        [10, ['a', 'b', 'c']],
        [40, ['a', 'b', 'c']],
        [40, ['a', 'b']],
        [40, ['a']],
      ]
    : [[40, ['a', 'b']]];

  for (const [seconds, nodes] of STALLS) {
    const title = nodes.length === 3 ? '' : ` with ${nodes.length} nodes`;
    it(`moves nothing when etcd stands still for ${seconds} s${title} (A15, H7)`, async () => {
      const world = await bed.begin(nodes, exclusivePool('p'), REAL);
      await world.control();
      await bed.allLive(...nodes);
      await bed.claim(30);
      await world.settled(nodes.map(() => 30 / nodes.length));
      const mark = bed.cluster.auditMark();
      const late = world.agent(nodes.at(-1) ?? '');
      late.isSilent = true;
      bed.cluster.etcd.freeze();
      await passes(seconds * 1000);
      bed.cluster.etcd.thaw();
      await passes(LATE_MS);
      late.isSilent = false;
      await passes(17_000 - LATE_MS);
      expect(bed.movesSince(mark)).to.deep.equal([]);
      for (const name of nodes) expect(await bed.aliveOf(name)).to.include('"True"');
    });
  }
});
