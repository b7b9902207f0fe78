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
import { agentKubeconfig, startAgent, untilIpNode } from './support/agent-run.ts';
import { absentAt, FullRun } from './support/full-run.ts';
import { type FailingProxy, startProxy } from './support/proxy.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ALL = ['a', 'b', 'c'];
const REFUSING = ['a', 'b'];
const VIP = '198.51.100.3';
const OTHER = '198.51.100.64';
const LATER = { timeoutMs: 180_000, everyMs: 50 };

describe('a pool that becomes exclusive', function () {
  this.timeout(300_000);
  let world: FullRun;
  let proxy: FailingProxy | undefined;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(ALL);
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(async () => {
    await proxy?.stop();
    await world?.stop();
  });

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

  it('is announced by its holder alone at once, whatever the pool drains: another Service may have the address next', async () => {
    const { cluster } = world;
    const ofService = (mode: string) =>
      poolBody('r', [`${OTHER}/32`], {
        placement: { mode, nodeFilter: 'first-alive' },
        drain: { on: ['stop'], waitSeconds: 1200 },
      });
    await cluster.applyObjects(ofService('anycast'));
    const namespace = await cluster.namespace();
    await cluster.setEndpoints({ namespace, name: 'web' }, 1);
    await cluster.addService({
      namespace,
      name: 'web',
      annotations: { 'herald.dev/pool': 'r' },
    });
    await world.heldBy(OTHER, 'a b c');
    const sampler = world.sample();
    await cluster.applyObjects(ofService('exclusive'));
    // a path with GRACEFUL_SHUTDOWN is one, too
    await untilValue(
      'one node has a path, and holds it',
      async () => (await world.paths()).get(OTHER)?.map(({ node }) => node) ?? [],
      ({ length }) => length === 1,
      LATER,
    );
    expect(absentAt(await sampler.stop(), [OTHER]), 'no path at all').to.deep.equal([]);
  });

  it('stays with all nodes while one of them is cut off from the API, and has one holder when it is back', async () => {
    const { cluster } = world;
    proxy = await startProxy(cluster);
    const kubeconfig = proxy.kubeconfig(await agentKubeconfig(cluster, 'c'));
    await world.agents.get('c')?.kill();
    world.agents.set('c', await startAgent({ cluster, node: 'c', kubeconfig }));
    await cluster.applyObjects(pool('anycast'));
    const other = '198.51.100.4';
    await cluster.api.create(IP_CLAIMS, claimBody(other));
    await world.heldBy(other, 'a b c');
    await proxy.refuse();
    await untilIpNode({ cluster, node: 'c' }, 'c is dead by its Lease', ({ status }) => {
      const is = ({ type, status: word }: Condition) => type === 'AgentAlive' && word === 'False';
      return status.conditions?.some(is) === true;
    });
    await cluster.applyObjects(pool('exclusive'));
    const reason = async () => {
      const { conditions = [] } = Object((await cluster.api.get(IP_CLAIMS, other))['status']);
      const holders = await world.holders(other);
      return `${conditions[0]?.reason}: ${holders}`;
    };
    const isDecided = (found: string) => !found.startsWith('undefined') && found !== 'Exclusive: ';
    await untilValue('what is said of the address', reason, isDecided, LATER);
    expect(await reason()).to.equal('AwaitingNodes: a b c');
    await proxy.accept();
    await untilValue('one holder', reason, (found) => /^Exclusive: [abc]$/.test(found), LATER);
  });
});
