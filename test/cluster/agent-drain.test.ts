/**
 * Exclusive addresses whose node is drained, by a cordon, a taint and a stop of its agent, with more
 * of them than the pool's wait leaves time for, and with no controller at all: judged in BIRD's own
 * table, which is sampled all the while. Never two paths of equal preference, never none.
 */

import { formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import type { IpNodeStatus } from '../../src/model/ip-node.ts';
import { nodeLease } from '../../src/model/names.ts';
import { IP_CLAIMS, IP_POOLS, LEASES, NODES } from '../../src/sources/kube/resources.ts';
import { claimBody } from '../support/fake-agents.ts';
import { passes, untilValue } from '../support/poll.ts';
import { EXCLUSIVE_POOL, poolBody } from './support/agent-documents.ts';
import { untilIpNode } from './support/agent-run.ts';
import { at, type Cluster } from './support/cluster.ts';
import { absentAt, equalAt, FullRun, type Sample } from './support/full-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const { HERALD_TEST_LONG = '' } = process.env;
const ALL = ['a', 'b'];
const FEW = 20;
const CLAIMS = HERALD_TEST_LONG === '' ? 300 : 1500;
/** of the pool: far shorter than the moves take */
const WAIT_SECONDS = 1;
/** of the agents: less 20 s it is the time that the moves of a stop have, which is enough for all */
const STOP_GRACE_SECONDS = HERALD_TEST_LONG === '' ? 80 : 180;
const TAINT = 'example.com/maintenance';
const PATIENTLY = { timeoutMs: 180_000, everyMs: 100 };
const FIRST_ADDRESS = 0xc6120000; // 198.18.0.0
const everything = Array.from({ length: CLAIMS }, (_, index) =>
  formatAddress({ family: 'ipv4', bits: FIRST_ADDRESS + index }),
);
const few = everything.slice(0, FEW);
const many = everything.slice(FEW);

function hasSession({ sessions = [] }: IpNodeStatus): boolean {
  return sessions.some(({ state }) => state === 'Established');
}

describe('exclusive addresses of a node that is drained', function () {
  this.timeout(420_000);
  let world: FullRun;
  let cluster: Cluster;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(ALL);
    cluster = world.cluster;
    await cluster.applyObjects(
      loopbackPeer('bird', world.bird, ALL, { maxRoutes: 2 * CLAIMS }),
      poolBody('any', ['198.51.100.0/28']),
    );
    await world.controller('one');
    await Promise.all(ALL.map(startAgent));
    for (const node of ALL) {
      await untilIpNode({ cluster, node }, 'it has a session', ({ status }) => hasSession(status));
    }
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(() => world?.stop());

  const startAgent = (node: string) => world.agent(node, [`--stop-grace=${STOP_GRACE_SECONDS}`]);

  /** all on a: it is the first that lives */
  async function claim(addresses: readonly string[]): Promise<void> {
    const bodies = addresses.map((name) => claimBody(name));
    await Promise.all(bodies.map((body) => cluster.api.create(IP_CLAIMS, body)));
    await allAt(addresses, 'a', 1);
  }

  const cordon = (node: string, unschedulable: boolean) =>
    cluster.api.patch(NODES, node, { kind: 'merge', body: { spec: { unschedulable } } });

  const taint = (node: string, taints: readonly object[]) =>
    cluster.api.patch(NODES, node, { kind: 'merge', body: { spec: { taints } } });

  async function isReady(node: string): Promise<void> {
    await untilIpNode({ cluster, node }, 'the controller counts on it', ({ status }) => {
      const isAlive = status.conditions?.some(
        ({ type, status: is }) => type === 'AgentAlive' && is === 'True',
      );
      return isAlive === true && hasSession(status);
    });
  }

  /** all addresses have exactly one path, of this node, with so many AS numbers */
  async function allAt(addresses: readonly string[], node: string, length: number): Promise<void> {
    await untilValue(
      `${node} announces all, with ${length} in the AS path`,
      async () => {
        const paths = await world.paths();
        return addresses.filter((address) => {
          const [path, ...others] = paths.get(address) ?? [];
          return others.length > 0 || path?.node !== node || path.length !== length;
        }).length;
      },
      (others) => others === 0,
      PATIENTLY,
    );
  }

  it('are placed where only the claim itself says that it is exclusive, and nothing else is (C6)', async () => {
    const placement = { mode: 'exclusive', nodeFilter: 'first-alive' };
    await cluster.api.create(IP_CLAIMS, claimBody('198.51.100.3', { placement }));
    await world.heldBy('198.51.100.3', 'a');
    await untilLeases('both renew: each may be given it', 'held held');
    await cluster.api.delete(IP_CLAIMS, '198.51.100.3');
    await untilLeases('nobody needs a Lease', 'released released');
    await cluster.applyObjects(
      poolBody('p', ['198.18.0.0/16'], {
        placement: { mode: 'exclusive', nodeFilter: 'first-alive' },
        drain: { on: ['cordon', `taint:${TAINT}`, 'stop'], waitSeconds: WAIT_SECONDS },
      }),
    );
    for (const node of ALL) await isReady(node);
  });

  it('stay where they are, de-preferred, for as long as there is no controller, and move when there is one (C3)', async () => {
    await claim(few);
    await world.controllers.get('one')?.stop();
    const sampler = world.sample();
    await cordon('a', true);
    await allAt(few, 'a', 3);
    await passes(4000 * WAIT_SECONDS);
    await allAt(few, 'a', 3);
    await world.controller('two');
    await allAt(few, 'b', 1);
    const samples = await sampler.stop();
    await cordon('a', false);
    expect(absentAt(samples, few), 'no path at all').to.deep.equal([]);
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
  });

  it(`${CLAIMS - FEW} of them stay announced until their moves are done, though the pool waits for ${WAIT_SECONDS} s only (C3)`, async () => {
    await claim(many);
    const sampler = world.sample();
    await cordon('a', true);
    await allAt(everything, 'b', 1);
    const samples = await sampler.stop();
    await cordon('a', false);
    neverNoneNeverTwo(samples);
  });

  it(`all ${CLAIMS} stay announced until their moves are done when their node gets a taint of the pool's drain.on`, async () => {
    const sampler = world.sample();
    await taint('b', [{ key: TAINT, effect: 'NoSchedule' }]);
    await allAt(everything, 'a', 1);
    const samples = await sampler.stop();
    await taint('b', []);
    await isReady('b');
    neverNoneNeverTwo(samples);
  });

  it(`all ${CLAIMS} stay announced until their moves are done when their agent is stopped`, async () => {
    const agent = world.agents.get('a');
    const sampler = world.sample();
    const ended = agent?.stop(STOP_GRACE_SECONDS * 1000);
    await allAt(everything, 'b', 1);
    expect(await ended, 'its exit status').to.equal(0);
    const samples = await sampler.stop();
    await startAgent('a');
    await isReady('a');
    neverNoneNeverTwo(samples);
  });

  it('go to another node when their holder dies, also when their pool was deleted before (C5)', async () => {
    await Promise.all(['any', 'p'].map((name) => cluster.api.delete(IP_POOLS, name)));
    await Promise.all(everything.map((name) => cluster.api.delete(IP_CLAIMS, name)));
    const namespace = await cluster.namespace();
    await cluster.applyObjects(poolBody('q', ['198.51.100.16/28'], EXCLUSIVE_POOL));
    await cluster.setEndpoints({ namespace, name: 'web' }, 1, 'IPv4');
    await cluster.addService({ namespace, name: 'web' });
    const holder = await untilValue(
      'a node holds it',
      () => world.holders('198.51.100.16'),
      (found) => found !== '',
      PATIENTLY,
    );
    // both nodes know the pool: a node that has never known it announces nothing of it
    const everywhere = { placement: { mode: 'anycast' } };
    await cluster.api.create(IP_CLAIMS, claimBody('198.51.100.30', everywhere));
    await world.heldBy('198.51.100.30', 'a b', PATIENTLY);
    await cluster.api.delete(IP_CLAIMS, '198.51.100.30');
    await untilLeases('both renew', 'held held');
    await cluster.api.delete(IP_POOLS, 'q');
    // as long as it takes to give a Lease back, and a renewal of those that are kept
    await passes(6000);
    await untilLeases('both renew', 'held held');
    await world.heldBy('198.51.100.16', holder);
    await world.agents.get(holder)?.kill();
    await world.heldBy('198.51.100.16', holder === 'a' ? 'b' : 'a');
  });

  function neverNoneNeverTwo(samples: readonly Sample[]): void {
    expect(samples.length, 'looks at the table').to.be.above(20);
    expect(absentAt(samples, everything), 'no path at all').to.deep.equal([]);
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
  }

  /** of both nodes: a Lease that was given back has no holder */
  async function untilLeases(what: string, wanted: string): Promise<void> {
    const stateOf = async (node: string) => {
      const lease = await cluster.api.get(LEASES, nodeLease(node));
      return at(lease, 'spec', 'holderIdentity') ? 'held' : 'released';
    };
    await untilValue(
      what,
      async () => (await Promise.all(ALL.map(stateOf))).join(' '),
      (found) => found === wanted,
      PATIENTLY,
    );
  }
});
