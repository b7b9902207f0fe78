/** What a tenant with nothing but rights on Services of its own namespace does to everybody else, on a real API server: nothing. */

import { expect } from 'chai';
import { ANNOTATION, CONTROLLER_LEASE } from '../../src/model/names.ts';
import { LEASES } from '../../src/sources/kube/resources.ts';
import { Bench } from './support/allocation.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { freePorts } from './support/servers.ts';

/** shorter than the defaults, in the same proportions */
const QUICK = [
  '--leader-elect-lease-duration=6',
  '--leader-elect-renew-deadline=4',
  '--leader-elect-retry-period=1',
];
const TOUCHES = 8;

describe('a tenant and the others', function () {
  this.timeout(300_000);
  let cluster: Cluster;
  const running: HeraldRun[] = [];

  before(async function start() {
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.installCrds();
  });

  afterEach(async () => {
    for (const each of running.splice(0)) await each.kill();
    await cluster?.reset();
  });
  after(() => cluster?.stop());

  async function controller(name: string): Promise<void> {
    const [port] = await freePorts(1);
    const kubeconfig = cluster.userKubeconfig(name, ['system:masters']);
    const args = ['controller', `--identity=${name}`, `--metrics-address=127.0.0.1:${port}`];
    running.push(startHerald([...args, ...QUICK], { name, folder: cluster.folder, kubeconfig }));
  }

  async function lease(): Promise<string> {
    const { spec } = await cluster.api.get(LEASES, CONTROLLER_LEASE);
    const { holderIdentity, leaseTransitions } = JSON.parse(JSON.stringify(spec));
    return `${holderIdentity}, ${leaseTransitions} transitions`;
  }

  it('36,000 addresses in an annotation that is touched again and again: another tenant is served, and the Lease stays where it is', async () => {
    const mallory = new Bench(cluster, await cluster.namespace('mallory'));
    const victim = new Bench(cluster, await cluster.namespace('victim'));
    await victim.pool('lab', ['192.0.2.0/28']);
    await controller('one');
    await victim.service('before');
    await victim.has('before', '192.0.2.0');
    await controller('two');
    const before = await lease();
    const annotations = { [ANNOTATION.addresses]: manyAddresses(36_000).join() };
    await mallory.service('flood', { annotations });
    for (let touch = 1; touch <= TOUCHES; touch += 1) {
      await mallory.patchService('flood', { metadata: { labels: { touched: String(touch) } } });
      await victim.service(`s${touch}`);
      await victim.has(`s${touch}`, `192.0.2.${touch}`);
    }
    expect(await lease()).to.equal(before);
    const said = await mallory.says('flood', 'BadRequest');
    expect(said).to.contain('names more than 16 addresses');
    await victim.has('before', '192.0.2.0');
  });
});

/** in no pool, and short: the API takes 256 kB of annotations */
function manyAddresses(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `::${(index + 2).toString(16)}`);
}
