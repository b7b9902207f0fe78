/**
 * A pool whose claims all nodes announce becomes exclusive, and the node that is to hold a claim does not announce it. BIRD's own table is sampled
 * all the while: the others withdraw when one that holds it is there, and not before.
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { nodeLabel } from '../../src/model/names.ts';
import type { Condition } from '../../src/model/service.ts';
import { IP_CLAIMS } from '../../src/sources/kube/resources.ts';
import { heraldProgram } from '../standalone/support/herald-program.ts';
import { claimBody } from '../support/fake-agents.ts';
import { untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';
import { poolBody } from './support/agent-documents.ts';
import { untilIpNode } from './support/agent-run.ts';
import { absentAt, FullRun } from './support/full-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ALL = ['a', 'b', 'c'];
const REFUSING = ['a', 'b'];
const VIP = '198.51.100.3';
const LATER = { timeoutMs: 180_000, everyMs: 50 };

describe('a pool that becomes exclusive', function () {
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

  const pool = (mode: string) =>
    poolBody('p', ['198.51.100.0/28'], {
      placement: { mode, nodeFilter: 'first-alive' },
      drain: { on: ['cordon'], waitSeconds: 1 },
    });

  it('keeps the address announced where the first nodes refuse to hold it', async () => {
    const { cluster } = world;
    // for the sake of the second one all nodes have Leases already: the first that live are a and b
    await cluster.applyObjects(
      pool('anycast'),
      poolBody('q', ['198.51.100.16/28'], { placement: { mode: 'exclusive' } }),
    );
    await world.controller('one');
    for (const node of ALL) await world.agent(node);
    await cluster.api.create(IP_CLAIMS, claimBody(VIP));
    await world.heldBy(VIP, 'a b c');
    for (const node of ALL) {
      await untilIpNode({ cluster, node }, 'the controller counts on it', ({ status }) => {
        const is = ({ type, status: word }: Condition) => type === 'AgentAlive' && word === 'True';
        return status.conditions?.some(is) === true;
      });
    }
    for (const node of REFUSING) {
      const socket = join(cluster.folder, `machine-${node}`, 'agent.sock');
      await run(heraldProgram(), ['drain', VIP, '--socket', socket]);
    }
    await world.heldBy(VIP, 'c');
    const sampler = world.sample();
    await cluster.applyObjects(pool('exclusive'));
    await untilValue(
      'c holds it, and nobody else has a part in it',
      async () => {
        const { metadata } = await cluster.api.get(IP_CLAIMS, VIP);
        return `${JSON.stringify(metadata.labels)} ${await world.holders(VIP)}`;
      },
      (found) => found === `${JSON.stringify({ [nodeLabel('c')]: '0' })} c`,
      LATER,
    );
    expect(absentAt(await sampler.stop(), [VIP]), 'no path at all').to.deep.equal([]);
  });
});
