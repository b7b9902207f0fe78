/** What a tenant with nothing but rights on Services of its own namespace does to everybody else, on a real API server: nothing. */

import { join } from 'node:path';
import { expect } from 'chai';
import { ANNOTATION, CONTROLLER_LEASE } from '../../src/model/names.ts';
import type { KubeObject } from '../../src/sources/kube/api.ts';
import { LEASES } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { ingressNames } from '../support/service-loops-run.ts';
import { Bench } from './support/allocation.ts';
import { type Cluster, conditionOf, startCluster } from './support/cluster.ts';
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
const COMPONENT = join(import.meta.dirname, '../../deploy/components/deny-external-ips');

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

  it('a namespace gets as many addresses as the pool gives it, also of five Services at once and of the next controller', async () => {
    const greedy = new Bench(cluster, await cluster.namespace('greedy'));
    const other = new Bench(cluster, await cluster.namespace('other'));
    await greedy.pool('lab', ['192.0.2.0/28'], { namespaces: { maxAddresses: 2 } });
    await controller('one');
    const names = ['s1', 's2', 's3', 's4', 's5'];
    await Promise.all(names.map((name) => greedy.service(name)));
    const served = async () => {
      const services = await greedy.services();
      return services.filter((each) => ingressNames(each).length > 0).map(nameOf);
    };
    const refused = async () => {
      const services = await greedy.services();
      return services.filter((each) => reasonOf(each) === 'NamespaceLimit').map(nameOf);
    };
    await untilValue('three wait', refused, ({ length }) => length === 3);
    // an address is given first, and said after that
    await untilValue('two are served', served, ({ length }) => length === 2);
    await other.service('web');
    await untilValue(
      'another is served',
      async () => ingressNames(await other.get('web')).length,
      (count) => count === 1,
    );
    for (const each of running.splice(0)) await each.kill();
    await controller('two');
    await greedy.service('s6');
    expect(await greedy.says('s6', 'NamespaceLimit')).to.contain('namespaces.maxAddresses');
    expect(await greedy.claims()).to.have.length(3);
    const [first = ''] = await served();
    await greedy.deleteService(first);
    await untilValue(
      'the next one is served',
      served,
      (found) => found.length === 2 && !found.includes(first),
    );
    expect(await refused()).to.have.length(3);
  });

  it('external IPs take nothing of a pool that is closed to their namespace, and who has the address is warned', async () => {
    const mallory = new Bench(cluster, await cluster.namespace('mallory'));
    const victim = new Bench(cluster, await cluster.namespace('victim'));
    await victim.pool('private', ['192.0.2.0/31'], { namespaces: { names: [victim.namespace] } });
    const spec = { type: 'ClusterIP', loadBalancerClass: undefined };
    await mallory.service('squat', { spec: { ...spec, externalIPs: ['192.0.2.0', '192.0.2.1'] } });
    await controller('one');
    await victim.service('web');
    await victim.service('named', { annotations: { [ANNOTATION.addresses]: '192.0.2.1' } });
    await victim.has('web', '192.0.2.0');
    await victim.has('named', '192.0.2.1');
    const said = await victim.says('web', 'ListedByOther');
    expect(said).to.contain('spec.externalIPs of a Service of another namespace');
    await mallory.deleteService('squat');
    await victim.says('web', 'Allocated');
  });

  it('the component deny-external-ips keeps addresses of pools out of spec.externalIPs', async () => {
    const mallory = new Bench(cluster, await cluster.namespace('mallory'));
    await mallory.pool('cidr', ['192.0.2.0/28', '2001:db8:1::/64']);
    await mallory.pool('range', ['198.51.100.10-198.51.100.20', '198.51.100.99']);
    await mallory.pool('range6', ['2001:db8:2::1-2001:db8:2::9']);
    await mallory.pool('open', ['203.0.113.0/24'], { allowExternalIPs: true });
    const spec = { type: 'ClusterIP', loadBalancerClass: undefined };
    const lists = async (name: string, ...externalIPs: readonly string[]) => {
      try {
        await mallory.service(name, { spec: { ...spec, externalIPs } });
        return 'taken';
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    };
    expect(await lists('before', '192.0.2.1')).to.equal('taken');
    await cluster.applyKustomization(COMPONENT);
    let tries = 0;
    await untilValue(
      'the policy is in force',
      async () => await lists(`probe-${tries++}`, '192.0.2.2'),
      (answer) => answer.includes('IPPool cidr'),
    );
    const answers: Record<string, string> = {};
    const asked = [
      ...['198.51.100.9', '198.51.100.10', '198.51.100.20', '198.51.100.21', '198.51.100.99'],
      ...['2001:db8:1::5', '2001:db8:2::5', '203.0.113.7', '10.1.2.3'],
    ];
    for (const [index, address] of asked.entries()) {
      const answer = await lists(`s${index}`, '10.9.9.9', address);
      answers[address] = answer === 'taken' ? answer : (/IPPool \w+/.exec(answer)?.[0] ?? answer);
    }
    expect(answers).to.deep.equal({
      '198.51.100.9': 'taken',
      '198.51.100.10': 'IPPool range',
      '198.51.100.20': 'IPPool range',
      '198.51.100.21': 'taken',
      '198.51.100.99': 'IPPool range',
      // which of the two pools is named first is not said
      '2001:db8:1::5':
        answers['2001:db8:1::5'] === 'IPPool range6' ? 'IPPool range6' : 'IPPool cidr',
      '2001:db8:2::5': 'IPPool range6',
      '203.0.113.7': 'taken',
      '10.1.2.3': 'taken',
    });
    // other edits of a Service that lists one from before go through
    await mallory.patchService('before', { metadata: { labels: { edited: 'yes' } } });
  });
});

function nameOf({ metadata }: KubeObject): string {
  return metadata.name;
}

function reasonOf(service: KubeObject): unknown {
  return JSON.parse(JSON.stringify(conditionOf(service, 'herald.dev/Allocated') ?? {})).reason;
}

/** in no pool, and short: the API takes 256 kB of annotations */
function manyAddresses(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `::${(index + 2).toString(16)}`);
}
