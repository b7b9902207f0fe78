/** What a tenant with nothing but rights on Services of its own namespace does to everybody else, on a real API server: nothing. */

import { join } from 'node:path';
import { expect } from 'chai';
import { ANNOTATION, CONTROLLER_LEASE } from '../../src/model/names.ts';
import type { KubeObject } from '../../src/sources/kube/api.ts';
import { EVENTS, inNamespace, LEASES, SERVICES } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { ingressNames } from '../support/service-loops-run.ts';
import { Bench } from './support/allocation.ts';
import { type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { freePorts } from './support/servers.ts';
import type { TestApi } from './support/test-api.ts';

/** shorter than the defaults, in the same proportions */
const QUICK = [
  '--leader-elect-lease-duration=6',
  '--leader-elect-renew-deadline=4',
  '--leader-elect-retry-period=1',
];
const TOUCHES = 8;
/** with 64 addresses each */
const LISTERS = 4000;
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

  async function controller(name: string, env: Record<string, string> = {}): Promise<void> {
    const [port] = await freePorts(1);
    const kubeconfig = cluster.userKubeconfig(name, ['system:masters']);
    const args = ['controller', `--identity=${name}`, `--metrics-address=127.0.0.1:${port}`];
    const { folder } = cluster;
    running.push(startHerald([...args, ...QUICK], { name, folder, kubeconfig, env }));
  }

  /** a client with the rules of Kubernetes' own `edit` in this namespace, and no others */
  async function tenant(namespace: string): Promise<TestApi> {
    const subjects = [{ kind: 'ServiceAccount', name: 'tenant', namespace }];
    const apiGroup = 'rbac.authorization.k8s.io';
    for (const name of ['system:aggregate-to-edit', 'system:aggregate-to-view']) {
      await cluster.applyObjects({
        apiVersion: `${apiGroup}/v1`,
        kind: 'RoleBinding',
        metadata: { name, namespace },
        roleRef: { apiGroup, kind: 'ClusterRole', name },
        subjects,
      });
    }
    return cluster.apiAs(await cluster.serviceAccountKubeconfig(namespace, 'tenant'));
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

  it('a megabyte in spec.loadBalancerIP of five Services: another tenant is served, and the Lease stays where it is', async () => {
    const mallory = new Bench(cluster, await cluster.namespace('mallory'));
    const victim = new Bench(cluster, await cluster.namespace('victim'));
    await victim.pool('lab', ['192.0.2.0/28']);
    await controller('one');
    await victim.service('before');
    await victim.has('before', '192.0.2.0');
    const before = await lease();
    const spec = { loadBalancerIP: manyHosts(90_000).join() };
    const floods = ['f1', 'f2', 'f3', 'f4', 'f5'];
    for (const name of floods) await mallory.service(name, { spec });
    for (let touch = 1; touch <= TOUCHES; touch += 1) {
      const labels = { touched: String(touch) };
      for (const name of floods) await mallory.patchService(name, { metadata: { labels } });
      await victim.service(`s${touch}`);
      await victim.has(`s${touch}`, `192.0.2.${touch}`);
    }
    expect(await lease()).to.equal(before);
    const said = await mallory.says('f1', 'BadRequest');
    expect(said).to.contain('spec.loadBalancerIP names more than 16 addresses');
  });

  describe('with Services of 1.4 MB each, and a controller with little memory', () => {
    async function servedBeside(count: number, specOf: (index: number) => object): Promise<string> {
      const namespace = await cluster.namespace('mallory');
      const victim = new Bench(cluster, await cluster.namespace('victim'));
      await victim.pool('lab', ['192.0.2.0/28']);
      const services = inNamespace(SERVICES, namespace);
      const api = await tenant(namespace);
      const make = (index: number) =>
        api.create(services, {
          ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: `s${index}` } },
          spec: { ports: [{ port: 80 }], ...specOf(index) },
        });
      for (let from = 0; from < count; from += 5) {
        await Promise.all([0, 1, 2, 3, 4].map((each) => make(from + each)));
      }
      await controller('one', { NODE_OPTIONS: '--max-old-space-size=112' });
      await victim.service('web');
      return await untilValue(
        'the victim is served, or the controller has ended',
        async () =>
          running[0]?.isRunning === true ? ingressNames(await victim.get('web')).join() : 'ended',
        (seen) => seen !== '',
        { timeoutMs: 120_000 },
      );
    }

    it('a hundred of them, of which nothing is needed: the list comes in pages that it can keep, and another tenant is served', async () => {
      // the API server takes any text here
      const spec = { clusterIP: 'None', loadBalancerIP: 'x'.repeat(1_400_000) };
      expect(await servedBeside(100, () => spec)).to.equal('192.0.2.0');
    });

    it('seventy load balancers with thousands of labels in their selector: what is kept of each is little, and another tenant is served', async () => {
      const spec = {
        ...{ type: 'LoadBalancer', loadBalancerClass: 'example.org/other' },
        allocateLoadBalancerNodePorts: false,
      };
      const specOf = (index: number) => ({ ...spec, selector: manyLabels(3600, index) });
      expect(await servedBeside(70, specOf)).to.equal('192.0.2.0');
    });
  });

  it('300 Services of one tenant, and one of another that came last: it is served among the first', async () => {
    const mallory = new Bench(cluster, await cluster.namespace('mallory'));
    const victim = new Bench(cluster, await cluster.namespace('victim'));
    await victim.pool('lab', ['198.18.0.0/16']);
    const names = Array.from({ length: 300 }, (_, index) => `s${index}`);
    for (let from = 0; from < names.length; from += 20) {
      const some = names.slice(from, from + 20);
      await Promise.all(some.map((name) => mallory.service(name)));
    }
    await victim.service('web');
    // in the order of the writes: who was told of an address
    const told: string[] = [];
    const { resourceVersion } = await cluster.api.list(SERVICES);
    const end = new AbortController();
    const watching = cluster.api.watch(SERVICES, {
      resourceVersion,
      signal: end.signal,
      timeoutSeconds: 300,
      onEvent: (event) => {
        if (event.kind === 'bookmark' || ingressNames(event.object).length === 0) return;
        const { namespace = '' } = event.object.metadata;
        told.push(namespace);
      },
    });
    await controller('one');
    await untilValue(
      'the victim is served',
      () => told.indexOf(victim.namespace),
      (place) => place >= 0,
      { timeoutMs: 120_000 },
    );
    end.abort();
    await watching;
    expect(told.indexOf(victim.namespace)).to.be.below(75);
  });

  describe('on an address that they share', () => {
    async function sharing() {
      const mallory = new Bench(cluster, await cluster.namespace('mallory'));
      const victim = new Bench(cluster, await cluster.namespace('victim'));
      const shareAcross = [mallory.namespace, victim.namespace];
      await victim.pool('lab', ['192.0.2.0/28'], { shareAcross });
      const api = await tenant(mallory.namespace);
      await controller('one');
      const annotations = { [ANNOTATION.share]: 'w' };
      await mallory.service('m', { annotations, port: 9999 });
      await mallory.has('m', '192.0.2.0');
      await victim.service('web', { annotations });
      await victim.has('web', '192.0.2.0');
      await untilValue(
        'the claim remembers how both came',
        async () =>
          (await victim.claim('192.0.2.0')).metadata.annotations?.['herald.dev/share-terms'] ?? '',
        (terms) => terms.split(',').length === 2,
      );
      const services = inNamespace(SERVICES, mallory.namespace);
      const edit = (body: object) => api.patch(services, 'm', { kind: 'merge', body });
      return { mallory, victim, edit, remove: () => api.delete(services, 'm') };
    }
    const takesPort = { spec: { ports: [{ port: 80 }] } };

    async function isTheVictims(victim: Bench): Promise<void> {
      await untilValue(
        'the victim has the claim alone',
        async () => JSON.parse(JSON.stringify((await victim.claim('192.0.2.0'))['spec'])).services,
        (services) => services.length === 1 && services[0].name === 'web',
      );
      await victim.has('web', '192.0.2.0');
      await victim.says('web', 'Allocated');
    }

    it('who takes the port of another leaves it, also while it is being deleted and its own finalizer keeps it', async () => {
      const { mallory, victim, edit, remove } = await sharing();
      await edit({ metadata: { finalizers: ['example.org/stay'] } });
      await remove();
      await edit(takesPort);
      await mallory.has('m');
      await isTheVictims(victim);
      await edit({ metadata: { finalizers: null } });
    });
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
    // the API server takes these, and kube-proxy takes them for 192.0.2.0 and 192.0.2.1
    const externalIPs = ['192.0.2.00', '::ffff:192.0.2.1'];
    await mallory.service('squat', { spec: { ...spec, externalIPs } });
    await controller('one');
    await victim.service('web');
    await victim.service('named', { annotations: { [ANNOTATION.addresses]: '192.0.2.1' } });
    await victim.has('web', '192.0.2.0');
    await victim.has('named', '192.0.2.1');
    const said = await victim.says('web', 'ListedByOther');
    expect(said).to.contain('spec.externalIPs of a Service of another namespace');
    await victim.says('named', 'ListedByOther');
    await mallory.deleteService('squat');
    await victim.says('web', 'Allocated');
  });

  it('thousands of Services that list the same 64 addresses: another tenant is served all along, and the Lease stays where it is', async () => {
    const mallory = new Bench(cluster, await cluster.namespace('mallory'));
    const victim = new Bench(cluster, await cluster.namespace('victim'));
    await victim.pool('lab', ['198.18.0.0/16']);
    await controller('one');
    await victim.service('before');
    await victim.has('before', '198.18.0.0');
    await controller('two');
    const before = await lease();
    const externalIPs = Array.from({ length: 64 }, (_, index) => `198.18.255.${index + 1}`);
    const services = inNamespace(SERVICES, mallory.namespace);
    const api = await tenant(mallory.namespace);
    const make = (index: number) =>
      api.create(services, {
        ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: `s${index}` } },
        spec: { clusterIP: 'None', ports: [{ port: 80 }], externalIPs },
      });
    const isServed = async (name: string, number: number) => {
      await victim.service(name);
      await victim.has(name, `198.18.0.${number}`);
      expect(await lease()).to.equal(before);
    };
    for (let from = 0; from < LISTERS; from += 8) {
      await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((each) => make(from + each)));
      if (from % 1000 === 0) await isServed(`w${from / 1000}`, 1 + from / 1000);
    }
    await isServed('beside', 5);
    // an operator's edit has all of them looked at
    await victim.pool('lab', ['198.18.0.0/16'], { priority: 1 });
    await isServed('after', 6);
    const lists = (index: number, list: readonly string[]) =>
      api.patch(services, `s${index}`, { kind: 'merge', body: { spec: { externalIPs: list } } });
    for (let index = 0; index < 16; index += 1) await lists(index, []);
    await isServed('last', 7);
    const said = await untilValue(
      'an event on one that came late',
      async () => {
        const { items } = await cluster.api.list(inNamespace(EVENTS, mallory.namespace));
        return items.map((each) => String(each['note'])).join('\n');
      },
      (text) => text.includes('list more than 4096'),
      { timeoutMs: 60_000 },
    );
    expect(said).to.contain('what is new in spec.externalIPs is neither reserved nor announced');
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

/** of some 380 characters each, which no other Service has */
function manyLabels(count: number, of: number): Readonly<Record<string, string>> {
  const domain = Array.from({ length: 4 }, () => 'a'.repeat(60)).join('.');
  const entry = (index: number) => [`${domain}/${'k'.repeat(50)}${of}-${index}`, 'v'.repeat(60)];
  return Object.fromEntries(Array.from({ length: count }, (_, index) => entry(index)));
}

/** in no pool: the API server takes 1.5 MB of a Service */
function manyHosts(count: number): readonly string[] {
  const octets = (index: number) => [index >> 16, (index >> 8) & 255, index & 255];
  return Array.from({ length: count }, (_, index) => `10.${octets(index).join('.')}`);
}

/** in no pool, and short: the API takes 256 kB of annotations */
function manyAddresses(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `::${(index + 2).toString(16)}`);
}
