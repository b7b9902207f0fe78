/**
 * An outage of the API under many agents that hold exclusive claims (F14): they all step down, and when the server is back, on an etcd that answers no list
 * from a server's memory, they all come up again. How many, and how long it is away: 60 and 13 s, in the long form 1,000 and 30 s.
 */

import { expect } from 'chai';
import { isLong } from '../standalone/support/measurements.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { outage, ReportingAgents } from './support/reporting-agents.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const SIZE = isLong() ? { agents: 1000, claims: 10 } : { agents: 60, claims: 5 };
/** the fence is at 12 s: in the short form they have hardly all stepped down when the server is back */
const AWAY_MS = isLong() ? 30_000 : 13_000;
const BACK_MS = 60_000;

describe('an outage of the API under many agents', function () {
  this.timeout(isLong() ? 2_400_000 : 300_000);
  let cluster: Cluster;
  let crowd: ReportingAgents | undefined;

  before(async function () {
    skipWithoutCluster(this, {});
    cluster = await startCluster({ audit: false });
    await cluster.installCrds();
  });
  after(async () => {
    crowd?.stop();
    await cluster?.stop();
  });

  it(`${SIZE.agents} agents step down while the API server is away, and are all back within a minute`, async () => {
    crowd = await ReportingAgents.start(cluster, SIZE);
    const { backMs, apiCpuSeconds } = await outage(cluster, crowd, {
      agents: SIZE.agents,
      awayMs: AWAY_MS,
    });
    const told = `the last was back after ${(backMs / 1000).toFixed(1)} s, ${apiCpuSeconds.toFixed(1)} s of API-server CPU`;
    process.stdout.write(`      ${told}\n`);
    expect(backMs, told).to.be.at.most(BACK_MS);
  });
});
