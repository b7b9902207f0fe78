/**
 * The link of a holder loses every packet, and before either side has noticed the holder is to give its address up. What it writes then is taken by
 * its own kernel and reaches no router: nobody else may stand beside it until the router has forgotten it. BIRD's own table is sampled.
 */

import { expect } from 'chai';
import { IP_CLAIMS, NODES } from '../../src/sources/kube/resources.ts';
import { claimBody } from '../support/fake-agents.ts';
import { run } from '../support/process.ts';
import { poolBody } from './support/agent-documents.ts';
import { untilIpNode } from './support/agent-run.ts';
import { absentAt, equalAt, FullRun } from './support/full-run.ts';
import { loopbackPeer, nodeSource } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ALL = ['a', 'b'];
const [HOLDER = ''] = ALL;
const VIP = '198.51.100.3';
const LATER = { timeoutMs: 120_000, everyMs: 50 };
const TABLE = `herald_silent_${process.pid}`;

describe('a holder whose link loses everything', function () {
  this.timeout(400_000);
  let world: FullRun;

  /** what the holder and the router send to each other is lost */
  async function lose(): Promise<void> {
    const [node, { port }] = [nodeSource(0), world.bird];
    const rules = [
      `ip saddr ${node} tcp dport ${port} drop`,
      `ip daddr ${node} tcp sport ${port} drop`,
    ];
    const chain = ['type filter hook output priority 0', ...rules].join('\n');
    await run('nft', ['-f', '-'], {
      input: `table inet ${TABLE} {\nchain output {\n${chain}\n}\n}\n`,
    });
  }

  const find = () => run('nft', ['delete', 'table', 'inet', TABLE], { anyStatus: true });

  const cordon = (node: string, unschedulable: boolean) =>
    world.cluster.api.patch(NODES, node, { kind: 'merge', body: { spec: { unschedulable } } });

  const alive = (node: string) =>
    untilIpNode({ cluster: world.cluster, node }, 'it lives and has a session', ({ status }) => {
      const { conditions = [], sessions = [] } = status;
      const isAlive = conditions.some(
        (each) => each.type === 'AgentAlive' && each.status === 'True',
      );
      return isAlive && sessions.some(({ state }) => state === 'Established');
    });

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(ALL);
    await world.cluster.applyObjects(
      poolBody('p', ['198.51.100.0/28'], {
        placement: { mode: 'exclusive', nodeFilter: 'first-alive' },
        drain: { on: ['cordon', 'stop'], waitSeconds: 1 },
      }),
    );
    await world.controller('one');
    // a stop of the holder has no time for a move
    await world.agent(HOLDER, ['--stop-grace=21']);
    await world.agent('b');
    await Promise.all(ALL.map(alive));
    await world.cluster.api.create(IP_CLAIMS, claimBody(VIP));
    await world.heldBy(VIP, HOLDER);
  });

  afterEach(async function () {
    await find();
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(() => world?.stop());

  it('keeps an address that it is to hand over until its router has forgotten it', async () => {
    const sampler = world.sample();
    await lose();
    await cordon(HOLDER, true);
    await world.heldBy(VIP, 'b', LATER);
    expect(equalAt(await sampler.stop()), 'two paths of equal preference').to.deep.equal([]);
    await find();
    await cordon(HOLDER, false);
    await alive(HOLDER);
    await cordon('b', true);
    const back = world.sample();
    await world.heldBy(VIP, HOLDER, LATER);
    await cordon('b', false);
    const samples = await back.stop();
    expect(equalAt(samples), 'two paths on the way back').to.deep.equal([]);
    expect(absentAt(samples, [VIP]), 'no path on the way back').to.deep.equal([]);
  });

  it('keeps it where its BGPPeer is edited then, which ends the session: the router has not had the end', async () => {
    const sampler = world.sample();
    await lose();
    const timers = { holdSeconds: 6, keepaliveSeconds: 2 };
    await world.cluster.applyObjects(loopbackPeer('bird', world.bird, ALL, { timers }));
    await world.heldBy(VIP, 'b', LATER);
    expect(equalAt(await sampler.stop()), 'two paths of equal preference').to.deep.equal([]);
    await find();
    await alive(HOLDER);
    await cordon('b', true);
    await world.heldBy(VIP, HOLDER, LATER);
    await cordon('b', false);
  });

  it('does so where it is stopped, too: its Lease says for how long', async () => {
    const sampler = world.sample();
    await lose();
    // what it withdraws at the end is lost, and the Cease behind it
    const stopped = world.agents.get(HOLDER)?.stop();
    await world.heldBy(VIP, 'b', LATER);
    await stopped;
    expect(equalAt(await sampler.stop()), 'two paths of equal preference').to.deep.equal([]);
  });
});
