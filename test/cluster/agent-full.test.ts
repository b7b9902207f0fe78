/**
 * A node that has as many routes as its router takes (`maxRoutes`), all of exclusive claims, and is asked to hold older ones beside them. BIRD's own
 * table is sampled all the while: what is announced stays, and the others go to a third node.
 */

import { expect } from 'chai';
import { IP_CLAIMS, NODES } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { exclusiveClaim, poolBody } from './support/agent-documents.ts';
import { untilIpNode } from './support/agent-run.ts';
import { absentAt, equalAt, FullRun } from './support/full-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ALL = ['a', 'b', 'c'];
const OLDER = ['198.51.100.1', '198.51.100.2', '198.51.100.3'];
const YOUNGER = ['198.51.100.4', '198.51.100.5', '198.51.100.6'];
const LATER = { timeoutMs: 180_000, everyMs: 50 };

describe('a node that has all the routes that its router takes', function () {
  this.timeout(300_000);
  let world: FullRun;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(ALL);
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(() => world?.stop());

  it('keeps what it announces where older claims are moved to it, and they go on to another one', async () => {
    const { cluster } = world;
    await cluster.applyObjects(
      loopbackPeer('bird', world.bird, ALL, { maxRoutes: OLDER.length }),
      poolBody('p', ['198.51.100.0/28'], {
        placement: { mode: 'exclusive', nodeFilter: 'first-alive' },
        drain: { on: ['cordon'], waitSeconds: 10 },
      }),
    );
    await world.controller('one');
    for (const node of ALL) await world.agent(node);
    for (const node of ALL) {
      await untilIpNode({ cluster, node }, 'the controller counts on it', ({ status }) => {
        const isAlive = status.conditions?.some(
          ({ type, status: is }) => type === 'AgentAlive' && is === 'True',
        );
        return isAlive === true && status.sessions?.[0]?.state === 'Established';
      });
    }
    for (const [node, addresses] of [['a', OLDER] as const, ['b', YOUNGER] as const]) {
      for (const address of addresses) {
        await cluster.api.create(IP_CLAIMS, exclusiveClaim(address, node, { [node]: '0' }));
      }
    }
    const where = async () => {
      const paths = await world.paths();
      return [...OLDER, ...YOUNGER]
        .map((each) => (paths.get(each) ?? []).map(({ node }) => node).join('+'))
        .join(' ');
    };
    await untilValue('each is where it shall be', where, (found) => found === 'a a a b b b', LATER);
    const sampler = world.sample();
    await cluster.api.patch(NODES, 'a', { kind: 'merge', body: { spec: { unschedulable: true } } });
    const isDone = (found: string) => /^([bc] ){5}[bc]$/.test(found);
    const last = await untilValue('others than a have all of them', where, isDone, LATER);
    const samples = await sampler.stop();
    expect(absentAt(samples, [...OLDER, ...YOUNGER]), 'no path at all').to.deep.equal([]);
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
    expect(last).to.equal('c c c b b b');
  });
});
