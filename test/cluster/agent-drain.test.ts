/**
 * Exclusive addresses whose node is drained, by a cordon, with more of them than the pool's wait leaves time for, and with no controller at all: judged in
 * BIRD's own table, which is sampled all the while. Never two paths of equal preference, never none.
 */

import { formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import { IP_CLAIMS, NODES } from '../../src/sources/kube/resources.ts';
import { claimBody } from '../support/fake-agents.ts';
import { passes, untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { untilIpNode } from './support/agent-run.ts';
import type { Cluster } from './support/cluster.ts';
import { absentAt, equalAt, FullRun } from './support/full-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const { HERALD_TEST_LONG = '' } = process.env;
const ALL = ['a', 'b'];
const FEW = 20;
const CLAIMS = HERALD_TEST_LONG === '' ? 300 : 1500;
/** of the pool: far shorter than the moves take */
const WAIT_SECONDS = 1;
const PATIENTLY = { timeoutMs: 180_000, everyMs: 100 };
const FIRST_ADDRESS = 0xc6120000; // 198.18.0.0
const everything = Array.from({ length: CLAIMS }, (_, index) =>
  formatAddress({ family: 'ipv4', bits: FIRST_ADDRESS + index }),
);
const few = everything.slice(0, FEW);
const many = everything.slice(FEW);

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
      poolBody('p', ['198.18.0.0/16'], {
        placement: { mode: 'exclusive', nodeFilter: 'first-alive' },
        drain: { on: ['cordon', 'stop'], waitSeconds: WAIT_SECONDS },
      }),
    );
    await world.controller('one');
    await world.agent('a');
    await isReady('a');
    await world.agent('b');
    await isReady('b');
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(() => world?.stop());

  /** all on a: it is the first that lives */
  async function claim(addresses: readonly string[]): Promise<void> {
    const bodies = addresses.map((name) => claimBody(name));
    await Promise.all(bodies.map((body) => cluster.api.create(IP_CLAIMS, body)));
    await allAt(addresses, 'a', 1);
  }

  const cordon = (node: string, unschedulable: boolean) =>
    cluster.api.patch(NODES, node, { kind: 'merge', body: { spec: { unschedulable } } });

  async function isReady(node: string): Promise<void> {
    await untilIpNode({ cluster, node }, 'the controller counts on it', ({ status }) => {
      const isAlive = status.conditions?.some(
        ({ type, status: is }) => type === 'AgentAlive' && is === 'True',
      );
      const hasSession = status.sessions?.some(({ state }) => state === 'Established');
      return isAlive === true && hasSession === true;
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

  it('stay where they are, de-preferred, for as long as there is no controller, and move when there is one (C3)', async () => {
    await claim(few);
    await world.controllers.get('one')?.stop();
    const sampler = world.sample();
    await cordon('a', true);
    await allAt(few, 'a', 4);
    await passes(4000 * WAIT_SECONDS);
    await allAt(few, 'a', 4);
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
    expect(samples.length, 'looks at the table').to.be.above(20);
    expect(absentAt(samples, everything), 'no path at all').to.deep.equal([]);
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
  });
});
