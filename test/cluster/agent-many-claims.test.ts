/** Claims that are deleted together, by hand: their routes go, and the API server is not asked for each of them. */

import { expect } from 'chai';
import { IP_CLAIMS } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { BOOT_ID, claim, NODE, PATIENT, peer, pool, startAgent } from './agent-scenery.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const CLAIMS = 200;
const KEPT = '198.51.100.250';

describe('many claims of an agent that are deleted together', function () {
  this.timeout(300_000);
  let cluster: Cluster;
  let bird: BirdRouter;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.installCrds();
    bird = await startBird({ folder: cluster.folder });
  });
  after(async () => {
    await bird?.kill();
    await cluster?.stop();
  });

  it('go from the router by a list of the other watch, not by a request for each; the others stay', async () => {
    const names = Array.from({ length: CLAIMS }, (_, index) => `198.51.100.${index}`);
    await cluster.addNode(NODE, { bootID: BOOT_ID });
    await cluster.applyObjects(
      peer(bird),
      pool('any', ['198.51.100.0/24']),
      ...[...names, KEPT].map((name) => claim(name, {})),
    );
    const agent = startAgent(cluster);
    try {
      await untilRoutes(CLAIMS + 1);
      const since = cluster.auditMark();
      // all of it comes to the agent at once
      agent.run.freeze();
      await Promise.all(names.map((name) => cluster.api.delete(IP_CLAIMS, name)));
      agent.run.thaw();
      await untilRoutes(1);
      expect(await bird.has(`${KEPT}/32`)).to.equal(true);
      const asked = cluster.audit(since).filter(({ verb, name, userAgent }) => {
        return verb === 'get' && names.includes(name ?? '') && userAgent.startsWith('herald');
      });
      // the first ones, until there are many
      expect(asked.length).to.be.below(CLAIMS / 2);
    } catch (error) {
      process.stderr.write(`${agent.run.log()}\n`);
      throw error;
    } finally {
      await agent.run.kill();
    }
  });

  const untilRoutes = (count: number) =>
    untilValue(
      `${count} routes`,
      () => bird.count(),
      (length) => length === count,
      PATIENT,
    );
});
