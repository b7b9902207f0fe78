/**
 * The holder of an exclusive address while nodes and controllers come and go, in BIRD's own table (SEEDS A2, C34 E4, E11 and E12, H39). Controllers
 * and agents are processes with the tokens of deploy/base. Nodes stay Ready and pods stay Running all the while.
 */

import { expect } from 'chai';
import { EXCLUDE_LABEL } from '../../src/model/names.ts';
import { IP_NODES, LEASES } from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf } from './support/cluster.ts';
import { ALL, ExclusiveRun, end, exclusive, PATIENTLY } from './support/exclusive-run.ts';
import { absentAt, equalAt, type FullRun } from './support/full-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const { HERALD_TEST_LONG = '' } = process.env;
const IS_LONG = HERALD_TEST_LONG !== '';

describe('exclusive addresses while nodes and controllers come and go', function () {
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

  it('a node that is excluded gives back in order: never two equal paths, never none (H39)', async () => {
    await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
    await run.allAtRest();
    await run.serve(9);
    const addresses = await run.settled(({ a, b, c }) => a === 3 && b === 3 && c === 3);
    const sampler = world.sample();
    for (const node of ALL) {
      await cluster.setNode(node, { labels: { [EXCLUDE_LABEL]: '' } });
      await run.settled((loads) => loads[node] === undefined);
      await cluster.setNode(node, { labels: { [EXCLUDE_LABEL]: null } });
      if (!IS_LONG && node === 'b') break;
    }
    const samples = await sampler.stop();
    expect(samples.length).to.be.above(30);
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
    expect(absentAt(samples, addresses), 'no path at all').to.deep.equal([]);
  });

  it('a node whose uplink is cut holds nothing, though its agent lives (A2)', async () => {
    const other = await startBird({ folder: cluster.folder });
    const onlyC = { matchLabels: { 'kubernetes.io/hostname': 'c' } };
    const notC = {
      matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['c'] }],
    };
    try {
      await cluster.applyObjects(
        loopbackPeer('bird', world.bird, ALL, { nodeSelector: notC }),
        loopbackPeer('other', other, ALL, { nodeSelector: onlyC }),
        poolBody('p', ['198.51.100.0/24'], exclusive({ nodeSelector: onlyC })),
      );
      await run.serve(3);
      await untilValue(
        'c has them',
        () => other.count(),
        (count) => count === 3,
        PATIENTLY,
      );
      await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
      // a and b had no Lease while the pool was c's alone; how soon they are believed in is not what is measured
      await untilValue(
        'all live',
        () => run.countAlive(),
        (count) => count === ALL.length,
        PATIENTLY,
      );
      expect(await other.count()).to.equal(3);
      const cutMs = nowMs();
      await other.kill();
      await run.settled(({ a = 0, b = 0 }) => a + b === 3);
      // the Lease is renewed all the while, so it cannot have been the silence of 15 s
      const lease = await cluster.api.get(LEASES, 'node-c');
      expect(Date.now() - Date.parse(String(at(lease, 'spec', 'renewTime')))).to.be.below(15_000);
      expect(nowMs() - cutMs).to.be.below(IS_LONG ? 15_000 : 30_000);
    } finally {
      await other.kill();
      await cluster.applyObjects(loopbackPeer('bird', world.bird, ALL));
    }
  });

  it('first-alive: all on the first, all on the next when it is frozen, and nothing goes back (E12)', async () => {
    const placement = exclusive({ nodeFilter: 'first-alive' });
    await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], placement));
    // a gave its Lease back while the pool was c's alone; until it has proven itself again, b is the first that lives
    await run.allAtRest();
    await run.serve(4);
    await run.settled(({ a }) => a === 4);
    world.agents.get('a')?.freeze();
    await run.settled(({ b }) => b === 4);
    world.agents.get('a')?.thaw();
    await untilValue(
      'the session of a is back',
      () => world.bird.established(),
      (found) => found.length === 3,
      PATIENTLY,
    );
    await run.settled(({ b }) => b === 4);
  });

  it('another controller goes on where one is frozen, twice (E4)', async () => {
    await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
    const served = async (name: string) => {
      await run.serve(1, name);
      await run.settled((loads) => Object.values(loads).reduce((sum, each) => sum + each, 0) >= 1);
    };
    await served('one');
    const first = world.controllers.get(await run.leader());
    first?.freeze();
    await served('two');
    const second = world.controllers.get(await run.leader());
    expect(second).not.to.equal(first);
    await run.remove('two0');
    await run.settled((loads) => Object.values(loads).reduce((sum, each) => sum + each, 0) === 1);
    second?.freeze();
    await served('three');
    first?.thaw();
    second?.thaw();
  });

  it('a frozen holder whose lease is shorter than the hold time of its router: never two equal paths (C12)', async () => {
    // a router that remembers the dead for 9 s, or for 30
    const hold = IS_LONG ? 30 : 9;
    const other = await startBird({ folder: cluster.folder, holdSeconds: hold });
    const timers = { holdSeconds: hold, keepaliveSeconds: 3 };
    await end(world.agents, ALL);
    for (const each of ALL) await world.agent(each, ['--lease-duration=5']);
    try {
      await cluster.applyObjects(
        loopbackPeer('bird', other, ALL, { timers }),
        poolBody('p', ['198.51.100.0/24'], exclusive()),
      );
      await run.allAtRest();
      await run.serve(3);
      const holders = async () => {
        const found = await world.paths(other);
        return [...found.values()].map((paths) => paths.map(({ node }) => node).join());
      };
      const before = await untilValue(
        'each has one holder',
        holders,
        (found) => found.length === 3 && found.every((nodes) => ALL.some((each) => each === nodes)),
        PATIENTLY,
      );
      const [victim = 'a'] = before;
      const sampler = world.sample(other);
      world.agents.get(victim)?.freeze();
      await untilValue(
        `${victim} holds nothing`,
        holders,
        (found) => found.length === 3 && !found.join().includes(victim),
        PATIENTLY,
      );
      const samples = await sampler.stop();
      expect(samples.length).to.be.above(30);
      expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
      const condition = conditionOf(
        await cluster.api.get(IP_NODES, ALL.find((each) => each !== victim) ?? ''),
        'RoutersForgetInTime',
      );
      expect(condition).to.include({ status: 'False', reason: 'HoldTime' });
    } finally {
      await end(world.agents, ALL);
      await cluster.applyObjects(loopbackPeer('bird', world.bird, ALL));
      await other.kill();
    }
  });
});
